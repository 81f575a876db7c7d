-- Names near which somebody may have meant one.
select name from rowlock_schedules order by name limit 1000
