-- What happened, added to the sums of each gate; in the order of the key, so that nothing deadlocks.
insert into rowlock_sums as s
    (list, gate, added, done, retried, moved, failed, abandoned, items_change, delayed_change, failed_change, seconds)
select r.list, r.gate, r.added, r.done, r.retried, r.moved, r.failed, r.abandoned, r.items_change, r.delayed_change,
    r.failed_change, r.seconds
from json_to_recordset(cast(:rows as json)) as r (
    list bigint, gate integer, added bigint, done bigint, retried bigint, moved bigint, failed bigint, abandoned bigint,
    items_change bigint, delayed_change bigint, failed_change bigint, seconds double precision
)
order by r.list, r.gate
on conflict (list, gate) do update
set added = s.added + excluded.added, done = s.done + excluded.done, retried = s.retried + excluded.retried,
    moved = s.moved + excluded.moved, failed = s.failed + excluded.failed, abandoned = s.abandoned + excluded.abandoned,
    items_change = s.items_change + excluded.items_change, delayed_change = s.delayed_change + excluded.delayed_change,
    failed_change = s.failed_change + excluded.failed_change, seconds = s.seconds + excluded.seconds
