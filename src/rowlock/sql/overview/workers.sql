-- Live sessions, those that hold most of a list first: how many of its items each holds, whether it holds its lease, and what it
-- looks for. A session that neither holds anything nor looks for lists is left out.
select w.session, w.holder, w.seeks, w.scope, w.expires_at, w.items, w.has_lease
from (
    select s.id as session, s.holder, s.seeks, s.scope, s.expires_at,
        (select cast(coalesce(sum(c.remaining), 0) as bigint) from rowlock_claims c where c.session = s.id and c.list = :list) as items,
        exists (select 1 from rowlock_leases h where h.session = s.id and h.list = :list) as has_lease
    from rowlock_sessions s
) as w
where w.items > 0 or w.has_lease or w.seeks is not null
order by w.items desc, w.session limit :limit
