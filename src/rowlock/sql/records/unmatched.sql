-- A record that is still to be matched, and its place in the order of commits.
select r.data, m.seq
from rowlock_records r join rowlock_moments m on m.id = r.moment
where r.id = :record and r.matched_at is null and r.cursor is null
