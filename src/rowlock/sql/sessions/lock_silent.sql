-- Only if it has not beaten since it was seen; whoever locks it expires it.
select id from rowlock_sessions where id = :session and expires_at = :expires_at {skip}
