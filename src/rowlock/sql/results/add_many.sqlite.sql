-- SQLite: json_each instead of json_to_recordset.
insert into rowlock_results (list, key, data, attempts, settled_at, keep_until)
select :list, json_extract(r.value, '$.key'), json_extract(r.value, '$.data'), json_extract(r.value, '$.attempts'), {now}, {now} + :keep
from json_each(:rows) as r
