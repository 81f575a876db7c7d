-- The schedule, locked against every other change of it, and against ticking.
select name, list, key, data, gate, priority, cron, every, zone, catch_up, start_at, next_at, last_at, error, version
from rowlock_schedules where name = :name {lock}
