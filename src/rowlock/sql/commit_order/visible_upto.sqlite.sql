-- SQLite: the number of a moment is its place.
select coalesce(max(id), 0) from rowlock_moments
