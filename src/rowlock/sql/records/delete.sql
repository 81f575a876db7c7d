-- Records that their topic does not keep any longer.
delete from rowlock_records where id in ({ids})
