-- Why the last tick has no item.
update rowlock_schedules set error = :error where name = :name
