-- Moments before those of all unmatched records. The last ones are kept for matchers in memory.
delete from rowlock_moments where id in (
    select g.id from rowlock_moments g
    where g.seq < coalesce((select min(m.seq) from rowlock_records r join rowlock_moments m on m.id = r.moment where r.matched_at is null), 9223372036854775807) and g.seq < (select max(m.seq) from rowlock_moments m) - :keep
    limit :limit
)
