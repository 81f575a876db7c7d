-- Subscriptions by number, strictly after one.
select id, subscriber, predicates, created_at from rowlock_subscriptions
where topic = :topic and gone is null and id > :after order by id limit :limit
