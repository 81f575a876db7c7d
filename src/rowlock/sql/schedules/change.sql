-- Another plan. The caller keeps the next tick, or computes it anew for a new recurrence.
update rowlock_schedules
set list = :list, key = :key, data = :data, gate = :gate, priority = :priority, cron = :cron, every = :every,
    zone = :zone, catch_up = :catch_up, start_at = :start_at, next_at = :next_at, error = null, version = version + 1
where name = :name and version = :version
