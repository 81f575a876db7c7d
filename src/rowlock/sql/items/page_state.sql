-- Walks the list until the page is full: no state but failed has an index. A range as in page; the second case keeps the
-- planner from estimating that the state is rare, which would make it sort the whole list.
select l.name as list, i.state, {item_columns}
from rowlock_lists l cross join lateral (
    select i.state, {item_columns}
    from (
        select i.list, {parts/state} as state, {item_columns} from rowlock_items i
        where (i.list, i.key) > (l.id, :after) and i.list <= l.id
    ) as i
    where case when i.state = :state then true else false end
    order by i.list, i.key limit :limit
) as i
where l.name = :list
order by i.key
