-- Takes items again, and hands them out.
update rowlock_lists
set state = case when state = 'complete' then 'open' else state end, sealed = false, version = version + 1, wake_at = {now}
where id = :list and (state = 'complete' or sealed)
