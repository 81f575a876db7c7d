-- All live tokens with the time of reading, for authenticators: few, and read once a second.
select digest, {now} as read_at, id, shown, label, role, lists, created_at, expires_at, last_used_at, revoked_at,
    'live' as state
from rowlock_tokens
where revoked_at is null and coalesce(expires_at > {now}, 1 = 1)
order by id limit :limit
