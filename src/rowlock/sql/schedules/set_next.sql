-- Without a next tick a schedule is paused.
update rowlock_schedules set next_at = :next_at, version = version + 1 where name = :name and version = :version
