delete from rowlock_records where id in ({ids})
