-- SQLite: no row locks; the only writer is alone already.
select id, name, state, gate, sealed, version, settings from rowlock_lists where name = :name
