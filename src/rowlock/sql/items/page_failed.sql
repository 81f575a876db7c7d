-- Failed items have an index of their own, so that a few among a million are found at once; a range as in page.
select l.name as list, 'failed' as state, {item_columns}
from rowlock_lists l cross join lateral (
    select {item_columns} from rowlock_items i
    where (i.list, i.key) > (l.id, :after) and i.list <= l.id and i.failed_at is not null
    order by i.list, i.key limit :limit
) as i
where l.name = :list
order by i.key
