-- The first record of each of these keys.
select key, id from rowlock_records where topic = :topic and subject is null and key {among_keys}
