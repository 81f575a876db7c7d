-- Lists by name, strictly after one.
select id, name, state, gate, sealed, version, settings from rowlock_lists
where name > :after order by name limit :limit
