-- Schedules: recurring work. A tick moves next_at on and adds its item in one transaction.

create table rowlock_schedules (
    name text primary key,
    list text not null,
    key text not null,
    data text,
    gate integer,
    priority integer not null,
    cron text,
    every integer,
    zone text not null,
    catch_up text not null check (catch_up in ('skip', 'last', 'all')),
    start_at integer not null,
    -- None while it is paused.
    next_at integer,
    last_at integer,
    -- Why the last tick has no item, if it has none.
    error text,
    version integer not null default 1,
    check ((cron is null) <> (every is null))
);
-- Everybody looks for the next tick once a second.
create index rowlock_schedules_due on rowlock_schedules (next_at, name) where next_at is not null;
