-- Who is behind these numbers, and what they asked for.
select id, subscriber, predicates, created_at from rowlock_subscriptions where id in ({ids}) order by id
