-- A schedule, locked against changes and ticks.
select name, list, key, data, gate, priority, cron, every, zone, catch_up, start_at, next_at, last_at, error, version
from rowlock_schedules where name = :name {lock}
