-- The record of what has been applied; made before the first migration, under its lock.
create table if not exists rowlock_migrations (
    number integer primary key,
    name text not null,
    checksum text not null,
    applied_at bigint not null
)
