-- Minutes, hours or days past their time; a bounded number at a time.
delete from rowlock_periods where (list, length, at) in (
    select list, length, at from rowlock_periods where length = :length and at < {now} - cast(:keep as bigint)
    order by at limit :limit
)
