-- Records past their time; a bounded number at a time.
delete from rowlock_audit where id in (
    select id from rowlock_audit where keep_until < {now} order by keep_until limit :limit
)
