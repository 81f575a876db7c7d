-- Number of subscriptions of a topic.
select count(*) from rowlock_subscriptions where topic = :topic and gone is null
