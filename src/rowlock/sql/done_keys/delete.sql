delete from rowlock_done_keys where list = :list and key {among_keys} and at is not null
