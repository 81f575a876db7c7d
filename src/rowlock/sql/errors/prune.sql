-- Errors past their list's keep_for; a bounded number at a time.
delete from rowlock_errors where id in (
    select id from rowlock_errors where keep_until < {now} order by keep_until limit :limit
)
