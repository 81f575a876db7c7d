-- The next items by key, in any state. A range as in items/page: any plan walks the index.
select i.list, i.key, i.attempts, i.gate, i.priority, i.position, i.due, i.failed_at
from rowlock_lists l cross join lateral (
    select i.list, i.key, i.attempts, i.gate, i.priority, i.position, i.due, i.failed_at from rowlock_items i
    where (i.list, i.key) >= (l.id, :start) and (i.list, i.key) < (l.id, :beyond)
        and case when i.key > :after then true else false end
    order by i.list, i.key limit :scan
) as i
where l.id = :list
