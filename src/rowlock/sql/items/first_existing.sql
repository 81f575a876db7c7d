-- The first of the given keys that is on the list, for the error of a strict add.
select key from rowlock_items where list = :list and key {among_keys} order by key limit 1
