-- Lists that may have work now, those that have waited longest first; not those that sleep, and not exclusive ones, which
-- are found by their leases.
select id, name, wake_at from rowlock_lists
where wake_at <= {now} and not exclusive and state = 'open'
    and (wake_at, id) > (cast(:wake_at as bigint), cast(:after as bigint))
order by wake_at, id limit :limit
