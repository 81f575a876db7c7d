-- Once: the first revocation keeps its time.
update rowlock_tokens set revoked_at = {now} where id = :token and revoked_at is null
