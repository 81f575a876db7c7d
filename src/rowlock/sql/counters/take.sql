-- In the order of their names, so that two transactions never deadlock; a counter that would overflow is left as it is.
insert into rowlock_counters (name, value)
select given.name, given.count
from json_to_recordset(:takes::json) as given (name text, count bigint)
order by given.name collate "C"
on conflict (name) do update set value = rowlock_counters.value + excluded.value
where rowlock_counters.value <= 9223372036854775807 - excluded.value
returning name, value
