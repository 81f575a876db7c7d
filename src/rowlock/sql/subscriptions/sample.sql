-- A few subscriptions from somewhere on.
select id, predicates from rowlock_subscriptions
where topic = :topic and gone is null and id >= :start order by id limit :limit
