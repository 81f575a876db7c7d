-- SQLite: it has no lateral joins, and its planner looks up each key anyway. All rows as one value: see `PACKED`.
select json_group_array(json_array(i.list, i.state, {item_columns}, i.has_failures))
from (
    select l.name as list, {parts/state} as state, {item_columns},
        exists (select 1 from rowlock_errors e where e.list = i.list and e.key = i.key) as has_failures
    from rowlock_lists l join rowlock_items i on i.list = l.id
    where l.name = :list and i.key in (select given.key from {keys})
) as i
