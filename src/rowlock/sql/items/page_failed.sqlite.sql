-- SQLite: it has no lateral joins, and its planner walks the index of keys anyway.
select l.name as list, 'failed' as state, {item_columns}
from rowlock_lists l join rowlock_items i on i.list = l.id
where l.name = :list and i.key > :after and i.failed_at is not null
order by i.key limit :limit
