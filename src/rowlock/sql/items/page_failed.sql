-- The failed ones have an index of their own, so that a few among a million are found at once; ranged as in page.
select l.name, i.key, i.position, i.gate, i.priority, i.attempts, i.due, i.failed_at, i.version, i.data, i.trace,
    'failed' as state
from rowlock_lists l cross join lateral (
    select list, key, position, gate, priority, attempts, due, failed_at, version, data, trace
    from rowlock_items
    where (list, key) > (l.id, :after) and list <= l.id and failed_at is not null
    order by list, key limit :limit
) as i
where l.name = :list
order by i.key
