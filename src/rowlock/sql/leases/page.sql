-- Which session holds which lists, for people to read.
select h.session, l.name from rowlock_leases h join rowlock_lists l on l.id = h.list order by h.session, l.name limit :limit
