-- Another definition; where it is in time stays, or begins anew with a new rhythm.
update rowlock_schedules
set list = :list, key = :key, data = :data, gate = :gate, priority = :priority, cron = :cron, every = :every,
    zone = :zone, catch_up = :catch_up, start_at = :start_at, next_at = :next_at, error = null, version = version + 1
where name = :name and version = :version
