-- The last subscription of a topic.
select max(id) from rowlock_subscriptions where topic = :topic and gone is null
