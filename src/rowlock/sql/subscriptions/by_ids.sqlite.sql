-- This planner looks up each number by itself.
select id, subscriber, predicates, created_at from rowlock_subscriptions where id in ({ids}) order by id
