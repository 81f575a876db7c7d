-- A new schedule, unless there is one of that name.
insert into rowlock_schedules
    (name, list, key, data, gate, priority, cron, every, zone, catch_up, start_at, next_at)
values (:name, :list, :key, :data, :gate, :priority, :cron, :every, :zone, :catch_up, :start_at, :next_at)
on conflict (name) do nothing
