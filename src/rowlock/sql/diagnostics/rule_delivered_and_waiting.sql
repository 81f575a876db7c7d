-- A notification that is marked as delivered leaves its record's list in the same transaction.
select l.name, n.subscriber from rowlock_notifications n
    join rowlock_topics t on t.id = n.topic
    join rowlock_lists l on l.name = 'topics/' || t.name || '/' || cast(n.record as text)
    join rowlock_items i on i.list = l.id and i.key = n.subscriber
where n.delivered_at is not null and i.gate = 1 order by l.name, n.subscriber limit 100
