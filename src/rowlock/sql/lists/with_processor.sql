-- Lists whose settings mention an HTTP processor, by name, strictly after one.
select id, name, state, gate, sealed, version, settings from rowlock_lists
where name > :after and settings like :mention order by name limit :limit
