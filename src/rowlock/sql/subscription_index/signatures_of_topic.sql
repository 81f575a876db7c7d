select shape from rowlock_shapes where topic = :topic
