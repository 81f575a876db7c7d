-- Periods: what happened in each minute, hour and day, of each list and of all lists together (list 0). Upkeep adds to them
-- when it folds tallies; adding and settling items does not write them.
create table rowlock_periods (
    list bigint not null,
    -- In milliseconds, as `at`, where the period begins.
    length bigint not null,
    at bigint not null,
    added bigint not null,
    done bigint not null,
    retried bigint not null,
    moved bigint not null,
    failed bigint not null,
    abandoned bigint not null,
    seconds double precision not null,
    primary key (list, length, at)
);
create index rowlock_periods_old on rowlock_periods (length, at);

-- Folded tallies were one for each minute until now.
insert into rowlock_periods (list, length, at, added, done, retried, moved, failed, abandoned, seconds)
select t.list, p.length, t.at - t.at % p.length, sum(t.added), sum(t.done), sum(t.retried), sum(t.moved), sum(t.failed),
    sum(t.abandoned), sum(t.seconds)
from rowlock_tallies t
cross join (select 60000 as length union all select 3600000 union all select 86400000) as p
where t.folded
group by t.list, p.length, t.at - t.at % p.length;
insert into rowlock_periods (list, length, at, added, done, retried, moved, failed, abandoned, seconds)
select 0, p.length, p.at, sum(p.added), sum(p.done), sum(p.retried), sum(p.moved), sum(p.failed), sum(p.abandoned), sum(p.seconds)
from rowlock_periods p group by p.length, p.at;

-- From now on a folded tally is a sum of any time. One for each day here, because an integer may not hold the sum of all.
insert into rowlock_tallies
    (list, gate, at, added, done, retried, moved, failed, abandoned, items_change, delayed_change, failed_change, seconds,
     folded, receipt)
select list, gate, at - at % 86400000, sum(added), sum(done), sum(retried), sum(moved), sum(failed), sum(abandoned),
    sum(items_change), sum(delayed_change), sum(failed_change), sum(seconds), true, 'sum'
from rowlock_tallies where folded group by list, gate, at - at % 86400000;
delete from rowlock_tallies where folded and receipt is null;
update rowlock_tallies set receipt = null where folded;
