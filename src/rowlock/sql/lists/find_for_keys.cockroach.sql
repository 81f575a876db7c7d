-- Nothing is known of such a setting here.
select id, name, state, gate, sealed, version, settings, null from rowlock_lists where name = :name
