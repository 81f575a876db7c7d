-- Live sessions, those with the earliest deadline first: what each looks for, and how many items it holds.
select s.id, s.holder, s.seeks, s.scope, s.expires_at, s.expiry, {now} as now,
    (select cast(coalesce(sum(c.remaining), 0) as bigint) from rowlock_claims c where c.session = s.id) as items
from rowlock_sessions s order by s.expires_at, s.id limit :limit
