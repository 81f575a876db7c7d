-- The list itself; its counts come from the tallies.
select id, name, state, gate, sealed, version, settings from rowlock_lists where name = :name
