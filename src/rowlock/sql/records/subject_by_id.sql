-- The first record of the same key as this one, which is known by its number.
select coalesce(subject, id) from rowlock_records where topic = :topic and id = :record
