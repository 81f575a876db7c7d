-- SQLite: it has no lateral joins, and its planner walks the index of keys anyway.
select i.list, i.key, i.attempts, i.gate, i.priority, i.position, i.due, i.failed_at from rowlock_items i
where i.list = :list and i.key >= :start and i.key > :after and i.key < :beyond and i.failed_at is not null
order by i.key limit :scan
