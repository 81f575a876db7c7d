-- The settings of many lists at once, by which a worker decides whether it handles them.
select name, settings from rowlock_lists where name {among_keys}
