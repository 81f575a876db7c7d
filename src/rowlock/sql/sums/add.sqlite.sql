-- SQLite: json_each instead of json_to_recordset.
insert into rowlock_sums as s
    (list, gate, added, done, retried, moved, failed, abandoned, items_change, delayed_change, failed_change, seconds)
select r.value ->> 'list', r.value ->> 'gate', r.value ->> 'added', r.value ->> 'done', r.value ->> 'retried',
    r.value ->> 'moved', r.value ->> 'failed', r.value ->> 'abandoned', r.value ->> 'items_change',
    r.value ->> 'delayed_change', r.value ->> 'failed_change', r.value ->> 'seconds'
from json_each(:rows) as r where true
on conflict (list, gate) do update
set added = s.added + excluded.added, done = s.done + excluded.done, retried = s.retried + excluded.retried,
    moved = s.moved + excluded.moved, failed = s.failed + excluded.failed, abandoned = s.abandoned + excluded.abandoned,
    items_change = s.items_change + excluded.items_change, delayed_change = s.delayed_change + excluded.delayed_change,
    failed_change = s.failed_change + excluded.failed_change, seconds = s.seconds + excluded.seconds
