-- SQLite: there is one writer at a time, so the number of a moment is its place in the commit order.
select r.data, r.moment
from rowlock_records r
where r.id = :record and r.matched_at is null and r.cursor is null
