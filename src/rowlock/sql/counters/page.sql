select name, value from rowlock_counters where name > :after order by name limit :limit
