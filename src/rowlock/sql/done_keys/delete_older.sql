-- The oldest first, by the index of times; a bounded number at a time.
delete from rowlock_done_keys where list = :list and key in (
    select key from rowlock_done_keys
    where list = :list and at <= {now} - cast(:age as bigint) order by at limit :limit
)
