-- Schedules whose next tick is due, the longest overdue first, with the time at which they were read.
select {now} as now, name, list, key, data, gate, priority, cron, every, zone, catch_up, start_at, next_at, last_at, error, version
from rowlock_schedules
where next_at <= {now} and (next_at, name) > (cast(:next_at as bigint), :after)
order by next_at, name limit :limit
