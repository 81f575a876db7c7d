-- Never lowers a counter. A raise ends the block that was reserved for Redis before it.
insert into rowlock_counters (name, value) values (:name, :value)
on conflict (name) do update set value = excluded.value, epoch = null
where rowlock_counters.value < excluded.value
returning value
