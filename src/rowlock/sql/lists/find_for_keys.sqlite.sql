-- SQLite: no setting is needed, its planner always looks up each key.
select id, name, state, gate, sealed, version, settings from rowlock_lists where name = :name
