-- A block for Redis and its epoch, before any number of it is handed out; unless somebody was faster to reserve one.
insert into rowlock_counters (name, value, epoch) values (:name, :size, :epoch)
on conflict (name) do update set value = rowlock_counters.value + excluded.value, epoch = excluded.epoch
where rowlock_counters.value <= 9223372036854775807 - excluded.value
    and coalesce(rowlock_counters.epoch, '') = :instead
returning value
