-- The list, locked against every other change of it and against adds: waits for those that share its row until they commit.
select id, name, state, gate, sealed, version, settings from rowlock_lists where name = :name {lock_exclusive}
