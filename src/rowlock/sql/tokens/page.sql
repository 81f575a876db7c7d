-- Tokens in the order of their creation, strictly after one; ended ones only if asked for.
select id, shown, label, role, lists, created_at, expires_at, last_used_at, revoked_at,
    case when revoked_at is not null then 'revoked' when expires_at <= {now} then 'expired' else 'live' end as state
from rowlock_tokens
where id > :after and (:ended or (revoked_at is null and coalesce(expires_at > {now}, 1 = 1)))
order by id limit :limit
