select id, revoked_at from rowlock_tokens where id = :token
