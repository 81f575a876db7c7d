-- SQLite: json_each instead of json_to_recordset.
insert into rowlock_errors (list, key, attempt, at, holder, kind, message, shape, keep_until)
select :list, r.value ->> 'key', r.value ->> 'attempt', r.value ->> 'at', r.value ->> 'holder', r.value ->> 'kind',
    r.value ->> 'message', r.value ->> 'shape', {now} + :keep
from json_each(:rows) as r
