-- The settings of many lists at once: whether a worker is for them hangs on it.
select name, settings from rowlock_lists where name {among_keys}
