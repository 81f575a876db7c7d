-- Sums of old tallies: one row for each gate of a list, in a table of their own, so that no index tells tallies from sums.
-- The index goes first, which locks the table: a program of an older version that runs could fold tallies between two statements.
drop index rowlock_tallies_unfolded;
create table rowlock_sums (
    list bigint not null,
    gate integer not null,
    added bigint not null,
    done bigint not null,
    retried bigint not null,
    moved bigint not null,
    failed bigint not null,
    abandoned bigint not null,
    items_change bigint not null,
    delayed_change bigint not null,
    failed_change bigint not null,
    seconds double precision not null,
    primary key (list, gate)
);
insert into rowlock_sums
    (list, gate, added, done, retried, moved, failed, abandoned, items_change, delayed_change, failed_change, seconds)
select list, gate, sum(added), sum(done), sum(retried), sum(moved), sum(failed), sum(abandoned), sum(items_change),
    sum(delayed_change), sum(failed_change), sum(seconds)
from rowlock_tallies where folded group by list, gate;
delete from rowlock_tallies where folded;

-- A number that is zero is null in a tally: it takes no room in the row and in the server's log.
alter table rowlock_tallies
    drop column folded,
    alter column added drop not null,
    alter column added drop default,
    alter column done drop not null,
    alter column done drop default,
    alter column retried drop not null,
    alter column retried drop default,
    alter column moved drop not null,
    alter column moved drop default,
    alter column failed drop not null,
    alter column failed drop default,
    alter column abandoned drop not null,
    alter column abandoned drop default,
    alter column items_change drop not null,
    alter column items_change drop default,
    alter column delayed_change drop not null,
    alter column delayed_change drop default,
    alter column failed_change drop not null,
    alter column failed_change drop default,
    alter column seconds drop not null,
    alter column seconds drop default;
