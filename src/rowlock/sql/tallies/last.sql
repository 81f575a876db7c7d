-- How far the record has got.
select coalesce(max(id), 0) from rowlock_tallies
