update rowlock_lists set name = :to, version = version + 1 where name = :name
