-- SQLite: two statements, because it cannot write inside a with.
update rowlock_lists set wake_at = {now},
    leased = exclusive and exists (select 1 from rowlock_leases h where h.list = rowlock_lists.id)
where id in (select list from rowlock_wakes) and (wake_at is null or wake_at > {now} or leased);
delete from rowlock_wakes
