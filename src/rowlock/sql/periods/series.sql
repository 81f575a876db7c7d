-- What happened in each step of a span, of one list or of all (0): the periods, and the tallies that are not folded yet. A row
-- without a step tells the time if nothing happened.
select {now} as now, p.at, p.added, p.done, p.retried, p.moved, p.failed, p.abandoned, p.seconds
from (select 1 as one) as always left join (
    select e.at - e.at {modulo} cast(:step as bigint) as at, cast(sum(e.added) as bigint) as added, cast(sum(e.done) as bigint) as done,
        cast(sum(e.retried) as bigint) as retried, cast(sum(e.moved) as bigint) as moved,
        cast(sum(e.failed) as bigint) as failed, cast(sum(e.abandoned) as bigint) as abandoned, sum(e.seconds) as seconds
    from (
        select r.at, r.added, r.done, r.retried, r.moved, r.failed, r.abandoned, r.seconds from rowlock_periods r
        where r.list = :list and r.length = :length and r.at >= {now} - cast(:span as bigint) - cast(:step as bigint)
        union all
        select t.at, {parts/tally_events}, coalesce(t.seconds, 0) as seconds from rowlock_tallies t
        where t.at >= {now} - cast(:span as bigint) - cast(:step as bigint) and :list in (0, t.list)
    ) as e
    group by e.at - e.at {modulo} cast(:step as bigint)
) as p on true
order by p.at
