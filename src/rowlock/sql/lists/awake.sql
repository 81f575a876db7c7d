-- Lists that may have work now, the longest waiting first; sleeping ones are not even looked at.
select id, name from rowlock_lists
where wake_at <= {now} and state = 'open' order by wake_at limit :limit
