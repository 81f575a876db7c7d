-- A lease is kept by working: where nothing was in hand and nothing was settled for its while, others may have the list.
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
