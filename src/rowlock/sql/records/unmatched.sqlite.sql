-- The order of moments is that of their numbers here.
select r.data, r.moment
from rowlock_records r
where r.id = :record and r.matched_at is null and r.cursor is null
