-- The same between two places in the order of names: those with one prefix.
select id, name, state, gate, sealed, version, settings from rowlock_lists
where name > :after and name >= :prefix and name < :beyond order by name limit :limit
