-- Two statements, for SQLite cannot write inside a with.
update rowlock_lists set wake_at = {now}
where id in (select list from rowlock_wakes) and (wake_at is null or wake_at > {now});
delete from rowlock_wakes
