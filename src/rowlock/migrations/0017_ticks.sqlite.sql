-- Ticks: when schedules ticked and what came of it; the last hundred of each.
create table rowlock_ticks (
    id integer primary key autoincrement,
    schedule text not null,
    at integer not null,
    items integer not null,
    added integer not null,
    error text,
    triggered integer not null
);
create index rowlock_ticks_schedule on rowlock_ticks (schedule, id);
