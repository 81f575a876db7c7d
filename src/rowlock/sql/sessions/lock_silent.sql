-- Only if no heartbeat has come since it was read; the process that locks it expires it.
select id from rowlock_sessions where id = :session and expires_at = :expires_at {skip}
