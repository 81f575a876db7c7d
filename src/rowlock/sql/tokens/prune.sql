-- Tokens that ended long ago, but not the newest: a service that had a token once stays closed without one.
delete from rowlock_tokens where id in (
    select id from rowlock_tokens
    where coalesce(revoked_at, expires_at) < {now} - cast(:age as bigint)
        and id < (select max(id) from rowlock_tokens)
    order by id limit :limit
)
