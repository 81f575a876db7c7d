-- SQLite: two statements, because it cannot write inside a with.
update rowlock_lists set leased = 0, wake_at = {now}
where id in (
    select h.list from rowlock_leases h
    where h.session = :session and h.asked_by is null
        and not exists (select 1 from rowlock_claims c where c.list = h.list)
    order by h.taken_at, h.list limit :limit
);
delete from rowlock_leases
where session = :session
    and exists (select 1 from rowlock_lists l where l.id = rowlock_leases.list and not l.leased)
