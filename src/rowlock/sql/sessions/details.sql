select details from rowlock_sessions where id = :session
