-- Lists that may have work now, those that have waited longest first, a page at a time; sleeping ones are not looked at,
-- and exclusive ones are looked for by who may have them.
select id, name, wake_at from rowlock_lists
where wake_at <= {now} and not exclusive and state = 'open'
    and (wake_at, id) > (cast(:wake_at as bigint), cast(:after as bigint))
order by wake_at, id limit :limit
