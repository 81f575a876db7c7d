-- What was settled makes room: a list that sleeps at its limit is looked at. One that is awake is looked at anyway.
insert into rowlock_wakes (list)
select l.id from rowlock_lists l where l.name = :name and (l.wake_at is null or l.wake_at > {now})
returning pg_notify('rowlock', '')
