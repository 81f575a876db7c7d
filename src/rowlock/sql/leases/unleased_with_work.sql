-- Exclusive lists with work that no session holds, the longest waiting first, a page at a time.
select id, name, wake_at from rowlock_lists
where wake_at <= {now} and exclusive and not leased and state = 'open'
    and (wake_at, id) > (cast(:wake_at as bigint), cast(:after as bigint))
order by wake_at, id limit :limit
