-- SQLite: it has no lateral joins, and its planner walks the index of keys anyway. All rows as one value: see `PACKED`.
select json_group_array(json_array(i.list, i.state, {item_columns}))
from (
    select i.* from (
        select l.name as list, {parts/state} as state, {item_columns}
        from rowlock_lists l join rowlock_items i on i.list = l.id
        where l.name = :list and i.key > :after
    ) as i
    where i.state = :state
    order by i.key limit :limit
) as i
