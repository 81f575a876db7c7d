-- SQLite: nobody needs to be notified; pollers watch the file.
insert into rowlock_wakes (list)
select l.id from rowlock_lists l where l.name = :name and (l.wake_at is null or l.wake_at > {now})
