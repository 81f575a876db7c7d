select 1 from rowlock_sessions where id = :session
