-- Live sessions that work the same patterns, and how many lists each holds: without those that others have requested of it, with
-- those that it has requested.
select s.id, (select count(*) from rowlock_leases h where h.session = s.id and h.asked_by is null)
        + (select count(*) from rowlock_leases h where h.asked_by = s.id),
    (select count(*) from rowlock_leases h where h.asked_by = s.id)
from rowlock_sessions s
where s.seeks = (select me.seeks from rowlock_sessions me where me.id = :session) and s.expires_at >= {now}
