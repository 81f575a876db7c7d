delete from rowlock_tallies where list = :list
