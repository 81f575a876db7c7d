-- This planner always looks up each key.
select id, name, state, gate, sealed, version, settings, null from rowlock_lists where name = :name
