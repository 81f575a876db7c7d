-- What was done and failed in each of the last minutes, of some lists.
select e.list, e.at - e.at {modulo} 60000 as at, cast(sum(e.done) as bigint) as done, cast(sum(e.failed) as bigint) as failed
from (
    select r.list, r.at, r.done, r.failed from rowlock_periods r
    where r.list in ({ids}) and r.length = 60000 and r.at >= {now} - cast(:span as bigint)
    union all
    select t.list, t.at, coalesce(t.done, 0), coalesce(t.failed, 0) from rowlock_tallies t
    where t.list in ({ids}) and t.at >= {now} - cast(:span as bigint)
) as e
group by e.list, e.at - e.at {modulo} 60000
