-- The topic as it stands.
select id, name, fields, keep_for, version from rowlock_topics where name = :name
