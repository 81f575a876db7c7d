-- Whoever moves it on from where they saw it makes the items, in the same transaction; all others came too late.
update rowlock_schedules set next_at = :next_at, last_at = :last_at, error = null
where name = :name and next_at = :seen and version = :version
