-- SQLite: json_each instead of json_to_recordset.
insert into rowlock_results (list, key, data, attempts, settled_at, keep_until)
select :list, r.value ->> 'key', r.value ->> 'data', r.value ->> 'attempts', r.value ->> 'settled_at', {now} + :keep
from json_each(:rows) as r
where not exists (
    select 1 from rowlock_results same
    where same.list = :list and same.key = r.value ->> 'key' and same.settled_at = r.value ->> 'settled_at'
)
