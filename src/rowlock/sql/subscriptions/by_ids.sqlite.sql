-- SQLite: the planner looks up each number by the index.
select id, subscriber, predicates, created_at from rowlock_subscriptions where id in ({ids}) order by id
