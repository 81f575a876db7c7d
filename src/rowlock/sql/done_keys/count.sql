select count(*) from rowlock_done_keys where list = :list and at is not null
