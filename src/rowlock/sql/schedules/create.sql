-- A schedule is made by whoever sets it first; the second finds it there.
insert into rowlock_schedules
    (name, list, key, data, gate, priority, cron, every, zone, catch_up, start_at, next_at)
values (:name, :list, :key, :data, :gate, :priority, :cron, :every, :zone, :catch_up, :start_at, :next_at)
on conflict (name) do nothing
