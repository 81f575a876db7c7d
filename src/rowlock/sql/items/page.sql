-- Keyset paging: a page costs the same at the end of the list as at its start.
-- A range of (list, key) and no equality, so that also a planner without statistics walks the index and never sorts.
select l.name, i.key, i.position, i.gate, i.priority, i.attempts, i.due, i.failed_at, i.version, i.data, i.trace,
    {parts/state} as state
from rowlock_lists l cross join lateral (
    select list, key, position, gate, priority, attempts, due, failed_at, version, data, trace
    from rowlock_items
    where (list, key) > (l.id, :after) and list <= l.id
    order by list, key limit :limit
) as i
where l.name = :list
order by i.key
