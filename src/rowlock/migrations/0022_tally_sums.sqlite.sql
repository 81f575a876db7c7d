-- Sums of old tallies: one row for each gate of a list, in a table of their own, so that no index tells tallies from sums.
create table rowlock_sums (
    list integer not null,
    gate integer not null,
    added integer not null,
    done integer not null,
    retried integer not null,
    moved integer not null,
    failed integer not null,
    abandoned integer not null,
    items_change integer not null,
    delayed_change integer not null,
    failed_change integer not null,
    seconds real not null,
    primary key (list, gate)
) without rowid;
insert into rowlock_sums
    (list, gate, added, done, retried, moved, failed, abandoned, items_change, delayed_change, failed_change, seconds)
select list, gate, sum(added), sum(done), sum(retried), sum(moved), sum(failed), sum(abandoned), sum(items_change),
    sum(delayed_change), sum(failed_change), sum(seconds)
from rowlock_tallies where folded group by list, gate;

-- A number that is zero is null in a tally, as on a server. SQLite cannot change a column, so the table is made anew.
create table rowlock_new_tallies (
    id integer primary key autoincrement,
    list integer not null,
    gate integer not null,
    at integer not null,
    token text,
    receipt text,
    gone text,
    added integer,
    done integer,
    retried integer,
    moved integer,
    failed integer,
    abandoned integer,
    items_change integer,
    delayed_change integer,
    failed_change integer,
    seconds real
);
insert into rowlock_new_tallies
    (id, list, gate, at, token, receipt, gone, added, done, retried, moved, failed, abandoned, items_change, delayed_change,
     failed_change, seconds)
select id, list, gate, at, token, receipt, gone, added, done, retried, moved, failed, abandoned, items_change,
    delayed_change, failed_change, seconds
from rowlock_tallies where not folded;
-- A number is never given twice, also where all tallies were folded.
delete from sqlite_sequence where name = 'rowlock_new_tallies';
insert into sqlite_sequence (name, seq) select 'rowlock_new_tallies', seq from sqlite_sequence where name = 'rowlock_tallies';
drop table rowlock_tallies;
alter table rowlock_new_tallies rename to rowlock_tallies;
create index rowlock_tallies_list on rowlock_tallies (list, at);
create index rowlock_tallies_token on rowlock_tallies (token) where token is not null;
