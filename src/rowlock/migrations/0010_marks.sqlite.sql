-- How far positions had got at some moments: enough to tell how old an item is, without a time in each.
create table rowlock_marks (
    position integer primary key,
    at integer not null
);
