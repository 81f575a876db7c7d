-- Reserves a block for Redis under a new epoch before any of its numbers is handed out, unless another block was reserved
-- meanwhile.
insert into rowlock_counters (name, value, epoch) values (:name, :size, :epoch)
on conflict (name) do update set value = rowlock_counters.value + excluded.value, epoch = excluded.epoch
where rowlock_counters.value <= 9223372036854775807 - excluded.value
    and coalesce(rowlock_counters.epoch, '') = :instead
returning value
