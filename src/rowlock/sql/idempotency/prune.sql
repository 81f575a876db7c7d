-- Answers that are too old to be asked for again.
delete from rowlock_requests where key in (
    select key from rowlock_requests where at < {now} - cast(:age as bigint) order by at limit :limit
)
