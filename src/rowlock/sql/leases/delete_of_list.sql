delete from rowlock_leases where list = :list
