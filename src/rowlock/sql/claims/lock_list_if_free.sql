-- Another list in the same transaction as the first: nobody may wait here for a lock while holding one. It says too whether
-- delayed items are due, which saves a statement where none are.
select l.id, l.exclusive, l.limits, l.lanes,
    (select i.due from rowlock_items i where i.list = l.id and i.due is not null order by i.due limit 1) <= {now} as has_due
from rowlock_lists l where l.name = :name {lock_if_free}
