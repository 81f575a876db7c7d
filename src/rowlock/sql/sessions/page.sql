-- Live sessions, the oldest first, and how much each has claimed.
select s.id, s.holder, s.opened_at, s.expires_at, s.details, s.expires_at - s.expiry as beat_at,
    coalesce(s.seeks, '[]') as seeks,
    (select count(*) from rowlock_claims c where c.session = s.id) as claims,
    (select cast(coalesce(sum(c.remaining), 0) as bigint) from rowlock_claims c where c.session = s.id) as items
from rowlock_sessions s order by s.opened_at, s.id limit :limit
