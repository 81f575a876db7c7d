-- SQLite: a file has no server that fails over; its table stays empty.
create table rowlock_epochs (
    server integer not null,
    timeline integer not null,
    tables integer not null,
    entered_at integer not null,
    lossy integer not null,
    primary key (server, timeline, tables)
);
