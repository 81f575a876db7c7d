-- The same without ctid; serialisable transactions see to it that no call is lost.
with called as (delete from rowlock_wakes returning list)
update rowlock_lists set wake_at = {now}
where id in (select called.list from called) and (wake_at is null or wake_at > {now})
returning id
