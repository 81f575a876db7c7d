-- Schedules whose last tick lies in the future: the clock was ahead and has been corrected.
select {now} as now, name, list, key, data, gate, priority, cron, every, zone, catch_up, start_at, next_at, last_at, error, version
from rowlock_schedules where next_at is not null and last_at > {now} + cast(:tolerance as bigint)
order by name limit :limit
