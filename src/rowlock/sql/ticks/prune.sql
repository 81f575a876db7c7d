-- All but the last ticks of a schedule.
delete from rowlock_ticks
where schedule = :schedule and id <= (
    select t.id from rowlock_ticks t where t.schedule = :schedule order by t.id desc limit 1 offset :keep
)
