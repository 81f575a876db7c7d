-- CockroachDB: it has no such setting.
select id, name, state, gate, sealed, version, settings from rowlock_lists where name = :name
