-- Once: when it was revoked first is when it was revoked.
update rowlock_tokens set revoked_at = {now} where id = :token and revoked_at is null
