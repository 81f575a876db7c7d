-- One subscriber's subscriptions by number, strictly after one.
select id, subscriber, predicates, created_at from rowlock_subscriptions
where topic = :topic and subscriber = :subscriber and gone is null and id > :after order by id limit :limit
