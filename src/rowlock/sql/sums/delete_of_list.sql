delete from rowlock_sums where list = :list
