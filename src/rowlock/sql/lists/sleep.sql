-- Nothing free is left: sleep until the next delayed item is due, or until somebody wakes the list.
update rowlock_lists
set wake_at = (select min(i.due) from rowlock_items i where i.list = rowlock_lists.id and i.due is not null)
where id = :list
