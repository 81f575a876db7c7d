-- What happened, added to the minute, hour and day of each list and of all; in the order of the key, so that nothing deadlocks.
insert into rowlock_periods as p (list, length, at, added, done, retried, moved, failed, abandoned, seconds)
select r.list, r.length, r.at, r.added, r.done, r.retried, r.moved, r.failed, r.abandoned, r.seconds
from json_to_recordset(cast(:rows as json)) as r (
    list bigint, length bigint, at bigint, added bigint, done bigint, retried bigint, moved bigint, failed bigint,
    abandoned bigint, seconds double precision
)
order by r.list, r.length, r.at
on conflict (list, length, at) do update
set added = p.added + excluded.added, done = p.done + excluded.done, retried = p.retried + excluded.retried,
    moved = p.moved + excluded.moved, failed = p.failed + excluded.failed, abandoned = p.abandoned + excluded.abandoned,
    seconds = p.seconds + excluded.seconds
