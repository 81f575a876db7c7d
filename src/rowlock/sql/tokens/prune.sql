-- Over for long; but the newest stays: where there was a token once, the service stays closed without one.
delete from rowlock_tokens where id in (
    select id from rowlock_tokens
    where coalesce(revoked_at, expires_at) < {now} - cast(:age as bigint)
        and id < (select max(id) from rowlock_tokens)
    order by id limit :limit
)
