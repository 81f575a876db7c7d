-- One subscriber's notifications of a topic, the newest first.
select n.id, n.subscriber, n.predicates, n.matched_at, n.delivered_at, r.id, r.published_at, r.data
from rowlock_notifications n join rowlock_records r on r.id = n.record
where n.topic = :topic and n.subscriber = :subscriber and n.id < :before
    and (cast(:delivered as integer) is null or (n.delivered_at is not null) = (cast(:delivered as integer) = 1))
order by n.id desc limit :limit
