-- Subscriptions of one subscriber.
select id, digest from rowlock_subscriptions where topic = :topic and subscriber = :subscriber and gone is null
