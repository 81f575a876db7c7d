-- SQLite: there is one writer at a time, so the number of a moment is its place in the commit order.
delete from rowlock_moments where id in (
    select g.id from rowlock_moments g
    where g.id < coalesce((select min(r.moment) from rowlock_records r where r.matched_at is null), 9223372036854775807) and g.id < (select max(m.id) from rowlock_moments m) - :keep
    limit :limit
)
