-- A topic by its name.
select id, name, fields, keep_for, version from rowlock_topics where name = :name
