-- Subscriptions by number. Lateral with a limit, so that each is looked up by its index whatever the planner estimates.
select s.id, s.subscriber, s.predicates, s.created_at
from (select distinct g.id from ({ids}) as g (id)) as given cross join lateral (
    select x.id, x.subscriber, x.predicates, x.created_at from rowlock_subscriptions x where x.id = given.id limit 1
) as s
order by s.id
