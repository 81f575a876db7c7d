-- The last ticks of a schedule, the newest first.
select t.at, t.items, t.added, t.error, t.triggered from rowlock_ticks t
where t.schedule = :schedule order by t.id desc limit :limit
