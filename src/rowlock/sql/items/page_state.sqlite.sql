-- No lateral here, and none needed: this planner walks the index of keys by itself. Rows in one value: see `PACKED`.
select json_group_array(json_array(
    p.name, p.key, p.position, p.gate, p.priority, p.attempts, p.due, p.failed_at, p.version, p.data, p.trace, p.state
))
from (
    select * from (
        select l.name, i.key, i.position, i.gate, i.priority, i.attempts, i.due, i.failed_at, i.version, i.data, i.trace,
            {parts/state} as state
        from rowlock_lists l join rowlock_items i on i.list = l.id
        where l.name = :list and i.key > :after
    ) as page
    where page.state = :state
    order by page.key limit :limit
) as p
