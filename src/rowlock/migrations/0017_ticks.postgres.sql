-- Ticks: when schedules ticked and what came of it; the last hundred of each.
create table rowlock_ticks (
    id bigint generated always as identity primary key,
    schedule text collate "C" not null,
    at bigint not null,
    items integer not null,
    added integer not null,
    error text,
    triggered boolean not null
);
create index rowlock_ticks_schedule on rowlock_ticks (schedule, id);
