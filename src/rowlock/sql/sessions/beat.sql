-- No row changed means that the session has ended: only the row's deletion ends it, no clock. Watchers see the change.
update rowlock_sessions set expires_at = {now} + cast(:expiry as bigint),
    expiry = case when expiry is not null then cast(:expiry as bigint) end
where id = :session
