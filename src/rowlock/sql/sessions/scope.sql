select scope from rowlock_sessions where id = :session
