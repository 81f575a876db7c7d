-- Schedules of a renamed list follow its name.
update rowlock_schedules set list = :to, version = version + 1 where list = :name
