select value, epoch from rowlock_counters where name = :name
