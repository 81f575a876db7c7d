-- Items are ready and may not be claimed yet: look again in a while, if nothing wakes the list before.
update rowlock_lists set wake_at = {now} + :wait
where id = :list and state = 'open' and (wake_at is null or wake_at <= {now} or wake_at > {now} + :wait)
    and exists (
        select 1 from rowlock_items i
        where i.list = :list and i.gate = rowlock_lists.gate and i.due is null and i.failed_at is null
    )
