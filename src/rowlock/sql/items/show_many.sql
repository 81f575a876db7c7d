-- Items by their keys as they stand, for many who look at once; and whether it is known how they failed. The state as in page.
-- Key by key, so that also a planner without statistics looks each up in the index and never walks the list.
select l.name, i.key, i.position, i.gate, i.priority, i.attempts, i.due, i.failed_at, i.version, i.data, i.trace,
    {parts/state} as state,
    exists (select 1 from rowlock_errors e where e.list = i.list and e.key = i.key) as has_failed
from rowlock_lists l cross join {keys} cross join lateral (
    select list, key, position, gate, priority, attempts, due, failed_at, version, data, trace
    from rowlock_items where list = l.id and key = given.key limit 1
) as i
where l.name = :list
