-- Results past their list's keep_for; a bounded number at a time.
delete from rowlock_results where id in (
    select id from rowlock_results where keep_until < {now} order by keep_until limit :limit
)
