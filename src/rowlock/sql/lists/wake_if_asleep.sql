-- A settlement has made room: a list that sleeps at its limit is woken. One that is awake is polled anyway.
insert into rowlock_wakes (list)
select l.id from rowlock_lists l where l.name = :name and (l.wake_at is null or l.wake_at > {now})
{notify}
