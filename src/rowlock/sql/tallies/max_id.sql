-- The id of the newest tally.
select coalesce(max(id), 0) from rowlock_tallies
