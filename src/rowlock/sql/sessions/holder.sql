select holder from rowlock_sessions where id = :session
