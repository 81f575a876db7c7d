-- The next failed items by key, which have an index of their own. A range as in items/page: any plan walks the index.
-- The end of the prefix is looked at outside: the server would read the index to the end of the list where fewer items have it.
select i.list, i.key, i.attempts, i.gate, i.priority, i.position, i.due, i.failed_at
from rowlock_lists l cross join lateral (
    select i.list, i.key, i.attempts, i.gate, i.priority, i.position, i.due, i.failed_at from rowlock_items i
    where (i.list, i.key) >= (l.id, :start) and i.list <= l.id
        and case when i.key > :after then true else false end and i.failed_at is not null
    order by i.list, i.key limit :scan
) as i
where l.id = :list and i.key < :beyond
