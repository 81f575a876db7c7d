-- No lateral here, and none needed: this planner looks up each key by itself. Rows in one value: see `PACKED`.
select json_group_array(json_array(
    l.name, i.key, i.position, i.gate, i.priority, i.attempts, i.due, i.failed_at, i.version, i.data, i.trace,
    {parts/state},
    exists (select 1 from rowlock_errors e where e.list = i.list and e.key = i.key)
))
from rowlock_lists l join rowlock_items i on i.list = l.id
where l.name = :list and i.key in (select given.key from {keys})
