-- Those of the keys that were just added although they were done: an add waits for a settlement of its key that has not
-- committed, and only the next statement sees it. At repeatable read and serializable none does. There the key of the
-- table makes such an add fail, so that it is repeated.
with added as (
    insert into rowlock_done_keys (list, key)
    select :list, given.key from {keys}
    where current_setting('transaction_isolation') <> 'read committed' order by given.key collate "C"
    on conflict (list, key) do nothing
)
select d.key from rowlock_done_keys d where d.list = :list and d.key {among_keys} and d.at is not null
