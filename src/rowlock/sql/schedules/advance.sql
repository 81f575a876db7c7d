-- The next tick, if nothing changed since the schedule was read. Only the transaction that does this adds the items.
update rowlock_schedules set next_at = :next_at, last_at = :last_at, error = null
where name = :name and next_at = :seen and version = :version
