-- A topic by its name, locked against other changes of its fields.
select id, name, fields, keep_for, version from rowlock_topics where name = :name {lock}
