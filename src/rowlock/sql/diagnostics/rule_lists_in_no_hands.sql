-- A list that is marked as leased has no lease, and no wake was requested: no worker would find it.
select l.name from rowlock_lists l
where l.leased and not exists (select 1 from rowlock_leases h where h.list = l.id)
    and not exists (select 1 from rowlock_wakes w where w.list = l.id)
order by l.name limit 100
