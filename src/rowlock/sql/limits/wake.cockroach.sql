-- CockroachDB: it has no notifications; pollers look again now and then.
insert into rowlock_wakes (list)
select l.id from rowlock_lists l where l.name = :name and (l.wake_at is null or l.wake_at > {now})
