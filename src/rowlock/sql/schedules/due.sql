-- Schedules whose time has come, those that waited longest first, with the moment at which that was seen.
select {now} as now, name, list, key, data, gate, priority, cron, every, zone, catch_up, start_at, next_at, last_at, error, version
from rowlock_schedules
where next_at <= {now} and (next_at, name) > (cast(:next_at as bigint), :after)
order by next_at, name limit :limit
