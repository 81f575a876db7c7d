-- Lists that may be worked over HTTP, by name, strictly after one: those whose settings mention it.
select id, name, state, gate, sealed, version, settings from rowlock_lists
where name > :after and settings like :mention order by name limit :limit
