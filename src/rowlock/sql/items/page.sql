-- Keyset paging: a page costs the same at the end of the list as at its start.
-- A range of (list, key) and no equality, so that also a planner without statistics walks the index and never sorts.
select l.name, i.key, i.position, i.gate, i.priority, i.attempts, i.due, i.failed_at, i.version, i.data, i.trace,
    case
        when i.failed_at is not null then 'failed'
        when i.gate > l.gate then 'gated'
        when i.due > {now} then 'delayed'
        when i.due is null and exists (
            select 1 from rowlock_claims c
            where c.list = i.list and c.gate = i.gate and c.priority = i.priority
                and c.low < i.position and c.high >= i.position
        ) then 'claimed'
        else 'ready'
    end as state
from rowlock_lists l cross join lateral (
    select list, key, position, gate, priority, attempts, due, failed_at, version, data, trace
    from rowlock_items
    where (list, key) > (l.id, :after) and list <= l.id
    order by list, key limit :limit
) as i
where l.name = :list
order by i.key
