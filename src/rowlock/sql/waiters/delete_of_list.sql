delete from rowlock_waiters where list = :list
