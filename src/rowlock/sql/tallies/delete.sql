delete from rowlock_tallies where id in ({ids})
