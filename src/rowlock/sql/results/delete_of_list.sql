delete from rowlock_results where list = :list
