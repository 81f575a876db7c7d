delete from rowlock_errors where list = :list
