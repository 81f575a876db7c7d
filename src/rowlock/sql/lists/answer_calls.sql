-- The calls are answered: their lists are awake until somebody finds nothing in them.
with called as (
    delete from rowlock_wakes where ctid in (select ctid from rowlock_wakes limit 1000 for update skip locked)
    returning list
)
update rowlock_lists set wake_at = {now}
where id in (select called.list from called) and (wake_at is null or wake_at > {now})
