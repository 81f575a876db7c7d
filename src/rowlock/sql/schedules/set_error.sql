-- Why the last tick added no item.
update rowlock_schedules set error = :error where name = :name
