select expires_at from rowlock_sessions where id = :session
