-- A list has another name: what ticks for it goes on doing so.
update rowlock_schedules set list = :to, version = version + 1 where list = :name
