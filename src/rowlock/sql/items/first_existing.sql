-- Which of the given keys are on the list: a strict add names one.
select key from rowlock_items where list = :list and key {among_keys} order by key limit 1
