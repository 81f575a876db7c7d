-- Live sessions that look for the same lists, and how many each has: less those that it was asked for, more those that
-- it has asked for.
select s.id, (select count(*) from rowlock_leases h where h.session = s.id and h.asked_by is null)
        + (select count(*) from rowlock_leases h where h.asked_by = s.id),
    (select count(*) from rowlock_leases h where h.asked_by = s.id)
from rowlock_sessions s
where s.seeks = (select me.seeks from rowlock_sessions me where me.id = :session) and s.expires_at >= {now}
