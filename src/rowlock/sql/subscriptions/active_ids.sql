-- Which of these numbers are subscriptions of the topic.
select id from rowlock_subscriptions where topic = :topic and gone is null and id in ({ids})
