-- SQLite: json_each instead of json_to_recordset.
insert into rowlock_periods as p (list, length, at, added, done, retried, moved, failed, abandoned, seconds)
select r.value ->> 'list', r.value ->> 'length', r.value ->> 'at', r.value ->> 'added', r.value ->> 'done',
    r.value ->> 'retried', r.value ->> 'moved', r.value ->> 'failed', r.value ->> 'abandoned', r.value ->> 'seconds'
from json_each(:rows) as r where true
on conflict (list, length, at) do update
set added = p.added + excluded.added, done = p.done + excluded.done, retried = p.retried + excluded.retried,
    moved = p.moved + excluded.moved, failed = p.failed + excluded.failed, abandoned = p.abandoned + excluded.abandoned,
    seconds = p.seconds + excluded.seconds
