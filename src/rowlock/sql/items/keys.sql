-- All keys of a list that fits in memory, as of one moment.
select key from rowlock_items where list = :list order by key
