-- Names for a suggestion when a schedule is unknown.
select name from rowlock_schedules order by name limit 1000
