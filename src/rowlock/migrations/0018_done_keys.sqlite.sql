-- Keys that were done on lists with the setting `once`: such a key is not added again.
create table rowlock_done_keys (
    list integer not null,
    key text not null,
    at integer,
    primary key (list, key)
) without rowid;
create index rowlock_done_keys_old on rowlock_done_keys (list, at) where at is not null;

alter table rowlock_lists add column once integer not null default 0;
create index rowlock_lists_once on rowlock_lists (id) where once;
