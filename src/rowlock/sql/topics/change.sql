-- Fields and retention of a topic; the version tells plans that they are out of date.
update rowlock_topics set fields = :fields, keep_for = :keep_for, version = version + 1 where id = :topic
