delete from rowlock_schedules where name = :name and version = :version
