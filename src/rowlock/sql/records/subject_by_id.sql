-- The first record with the key of this one, by number.
select coalesce(subject, id) from rowlock_records where topic = :topic and id = :record
