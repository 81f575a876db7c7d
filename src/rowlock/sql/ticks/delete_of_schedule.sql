delete from rowlock_ticks where schedule = :schedule
