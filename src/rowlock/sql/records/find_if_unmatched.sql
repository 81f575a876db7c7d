-- A record that no page has been matched of, and its place in the commit order.
select r.data, m.seq
from rowlock_records r join rowlock_moments m on m.id = r.moment
where r.id = :record and r.matched_at is null and r.cursor is null
