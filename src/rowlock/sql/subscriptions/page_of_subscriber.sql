-- The same of one subscriber.
select id, subscriber, predicates, created_at from rowlock_subscriptions
where topic = :topic and subscriber = :subscriber and gone is null and id > :after order by id limit :limit
