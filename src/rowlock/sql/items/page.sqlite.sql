-- No lateral here, and none needed: this planner walks the index of keys by itself.
select l.name, i.key, i.position, i.gate, i.priority, i.attempts, i.due, i.failed_at, i.version, i.data, i.trace,
    {parts/state} as state
from rowlock_lists l join rowlock_items i on i.list = l.id
where l.name = :list and i.key > :after
order by i.key limit :limit
