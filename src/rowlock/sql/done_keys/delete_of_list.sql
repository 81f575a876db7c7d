delete from rowlock_done_keys where list = :list
