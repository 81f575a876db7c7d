-- A lease that no session holds would never end.
select l.name, h.session from rowlock_leases h join rowlock_lists l on l.id = h.list
where not exists (select 1 from rowlock_sessions s where s.id = h.session)
order by l.name
