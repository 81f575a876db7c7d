-- The list, before its items are looked up by their keys. A plan that was made while the table was small may read all of it for
-- a few keys, and would be kept: so a plan is made for each call in this transaction, which takes 0.05 ms.
select l.id, l.name, l.state, l.gate, l.sealed, l.version, l.settings
from (select set_config('plan_cache_mode', 'force_custom_plan', true)) as planner cross join rowlock_lists l
where l.name = :name
