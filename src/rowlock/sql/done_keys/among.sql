-- Those of the keys that were done: one look into the index for each.
select d.key from rowlock_done_keys d where d.list = :list and d.key {among_keys} and d.at is not null
