-- Which servers, timelines and copies of our tables have run: one that is not here yet follows a failover or a restore.
create table rowlock_epochs (
    server bigint not null,
    timeline bigint not null,
    tables bigint not null,
    entered_at bigint not null,
    lossy boolean not null,
    primary key (server, timeline, tables)
);
