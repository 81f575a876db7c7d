-- No row touched means the session is lost: death is the row's deletion, nobody's clock.
update rowlock_sessions set expires_at = {now} + cast(:expiry as bigint) where id = :session
