delete from rowlock_waiters where awaited = :awaited
