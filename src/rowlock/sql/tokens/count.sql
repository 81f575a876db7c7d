select count(*) from rowlock_tokens where revoked_at is null and coalesce(expires_at > {now}, 1 = 1)
