-- The topic, locked against every other change of its fields.
select id, name, fields, keep_for, version from rowlock_topics where name = :name {lock}
