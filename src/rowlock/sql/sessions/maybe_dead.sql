-- Sessions that may be dead: without a heartbeat and past the deadline; or silent for two fifths of their expiry, when a live
-- one has sent a heartbeat; or with a deadline that is too far ahead, because the clock was set back. Every worker runs this
-- once a second over all sessions: the time is read once, not for each row.
with clock as materialized (select {now} as now)
select s.id, s.holder, s.expires_at, s.expiry, s.expires_at < clock.now as overdue
from rowlock_sessions s cross join clock
where 5 * (s.expires_at - clock.now) < 3 * coalesce(s.expiry, 0) or s.expires_at > clock.now + s.expiry + 1000
order by s.expires_at limit :limit
