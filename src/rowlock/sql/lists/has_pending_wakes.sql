-- Has anybody called?
select 1 from rowlock_wakes limit 1
