-- Never down: a lower number leaves it where it is. What was reserved before the step is not to be handed out after it.
insert into rowlock_counters (name, value) values (:name, :value)
on conflict (name) do update set value = excluded.value, epoch = null
where rowlock_counters.value < excluded.value
returning value
