-- Lists by name within a range, strictly after one.
select id, name, state, gate, sealed, version, settings from rowlock_lists
where name > :after and name >= :prefix and name < :beyond order by name limit :limit
