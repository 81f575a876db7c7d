-- The signatures in use: records compute a key for each of them.
select shape from rowlock_shapes where topic = :topic
