-- Which of the items wait for another list, and for which.
select w.key, l.name from rowlock_waiters w join rowlock_lists l on l.id = w.awaited
where w.list = :list and w.key {among_keys}
