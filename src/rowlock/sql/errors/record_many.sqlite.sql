-- SQLite: json_each instead of json_to_recordset.
insert into rowlock_errors (list, key, attempt, at, holder, kind, message, shape, traceback, keep_until)
select :list, r.value ->> 'key', r.value ->> 'attempt', {now}, :holder, r.value ->> 'kind', r.value ->> 'message',
    r.value ->> 'shape', r.value ->> 'traceback', {now} + :keep
from json_each(:rows) as r
