-- SQLite: json_each instead of json_to_recordset; there is one writer, so nothing can deadlock.
insert into rowlock_counters (name, value)
select json_extract(given.value, '$.name'), json_extract(given.value, '$.count')
from json_each(:takes) as given where true
on conflict (name) do update set value = rowlock_counters.value + excluded.value
where rowlock_counters.value <= 9223372036854775807 - excluded.value
returning name, value
