delete from rowlock_periods where list = :list
