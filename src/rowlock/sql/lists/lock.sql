-- The list, locked against every other change of it.
select id, name, state, gate, sealed, version, settings from rowlock_lists where name = :name {lock}
