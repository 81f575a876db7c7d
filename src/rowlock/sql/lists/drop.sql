delete from rowlock_lists where id = :list
