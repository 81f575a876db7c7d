-- Whether a wake was requested that is not applied yet.
select 1 from rowlock_wakes limit 1
