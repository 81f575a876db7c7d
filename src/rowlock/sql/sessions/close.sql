-- Its claims are deleted with it, so its items are free at once.
delete from rowlock_sessions where id = :session
