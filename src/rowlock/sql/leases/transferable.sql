-- Which list to request of a session: rather one without claims, rather one that it has not held for long.
select h.list, l.name from rowlock_leases h join rowlock_lists l on l.id = h.list
where h.session = :holder and h.asked_by is null
order by exists (select 1 from rowlock_claims c where c.list = h.list), h.taken_at desc, h.list limit 1
