-- Schedules by name within a range, strictly after one.
select name, list, key, data, gate, priority, cron, every, zone, catch_up, start_at, next_at, last_at, error, version
from rowlock_schedules where name > :after and name >= :prefix and name < :beyond order by name limit :limit
