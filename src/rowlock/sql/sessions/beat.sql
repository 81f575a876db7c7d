-- No row touched means the session is lost: death is the row's deletion, nobody's clock. Whoever watches sees the change.
update rowlock_sessions set expires_at = {now} + cast(:expiry as bigint),
    expiry = case when expiry is not null then cast(:expiry as bigint) end
where id = :session
