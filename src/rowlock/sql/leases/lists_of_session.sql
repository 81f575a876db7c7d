-- The lists that a session holds.
select l.name from rowlock_leases h join rowlock_lists l on l.id = h.list
where h.session = :session order by l.name limit :limit
