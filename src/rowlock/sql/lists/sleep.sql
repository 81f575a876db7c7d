-- Nothing free is left: sleep until the next delayed item is due, or until somebody wakes the list.
update rowlock_lists
set wake_at = (select min(i.due) from rowlock_items i where i.list = rowlock_lists.id and i.due is not null)
where id = :list and not exists (
    select 1 from rowlock_items i
    where i.list = rowlock_lists.id and i.gate = rowlock_lists.gate and i.due is null and i.failed_at is null
        and not exists (
            select 1 from rowlock_claims c
            where c.list = i.list and c.gate = i.gate and c.priority = i.priority
                and c.low < i.position and c.high >= i.position
        )
)
