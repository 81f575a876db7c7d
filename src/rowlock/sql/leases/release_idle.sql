-- A lease is kept by working: where nothing was claimed or settled for its time, another session may take the list.
delete from rowlock_leases where list in (
    select h.list from rowlock_leases h
    where h.taken_at <= {now} - h.keep and h.list = coalesce(cast(:list as bigint), h.list)
        and not exists (select 1 from rowlock_claims c where c.list = h.list)
        and not exists (
            select 1 from rowlock_tallies t where t.list = h.list and t.at > {now} - h.keep and t.token is not null
        )
    order by h.taken_at limit :limit
)
returning list
