delete from rowlock_handouts where list = :list
