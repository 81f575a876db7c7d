-- Keys that were done on lists with the setting `once`: such a key is not added again.
-- A row without a time says only that the key was added, in a transaction that does not see what others commit meanwhile.
create table rowlock_done_keys (
    list bigint not null,
    key text collate "C" not null,
    at bigint,
    primary key (list, key)
);
create index rowlock_done_keys_old on rowlock_done_keys (list, at) where at is not null;

alter table rowlock_lists add column once boolean not null default false;
create index rowlock_lists_once on rowlock_lists (id) where once;
