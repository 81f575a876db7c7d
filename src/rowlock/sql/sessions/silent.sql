-- Sessions that may be dead: without a heartbeat and past the deadline; or silent for two fifths of their expiry, when one
-- that lives has beaten; or with a deadline that is too far ahead, because the clock was set back.
select id, holder, expires_at, expiry, expires_at < {now} as overdue from rowlock_sessions
where 5 * (expires_at - {now}) < 3 * coalesce(expiry, 0) or expires_at > {now} + expiry + 1000
order by expires_at limit :limit
