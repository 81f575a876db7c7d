update rowlock_topics set fields = :fields, keep_for = :keep_for, version = version + 1 where id = :topic
