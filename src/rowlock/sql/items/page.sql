-- Keyset paging: a page costs the same at the end of the list as at its start.
-- A range of (list, key) and no equality, so that a planner without statistics also walks the index and never sorts.
select l.name as list, {parts/state} as state, {item_columns}
from rowlock_lists l cross join lateral (
    select i.list, {item_columns} from rowlock_items i
    where (i.list, i.key) > (l.id, :after) and i.list <= l.id
    order by i.list, i.key limit :limit
) as i
where l.name = :list
order by i.key
