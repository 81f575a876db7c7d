-- Only a sleeping list is written, and only then is anybody told: adders to a busy one touch no common row.
update rowlock_lists set wake_at = {now} where id = :list and (wake_at is null or wake_at > {now})
returning pg_notify('rowlock', '')
