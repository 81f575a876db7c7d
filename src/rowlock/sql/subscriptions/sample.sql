-- A few subscriptions from a number on, for statistics.
select id, predicates from rowlock_subscriptions
where topic = :topic and gone is null and id >= :start order by id limit :limit
