-- CockroachDB: places are given in the order of commits.
select coalesce(max(seq), 0) from rowlock_moments
