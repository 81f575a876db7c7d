delete from rowlock_items where list = :list
