-- Lists that can advance, because the last item has left their gate and no worker has examined them since. Leased lists are
-- examined by their holders. Of many lists that are awake, a window from a random place is examined.
select seen.name from (
    select l.name, l.gate, l.sealed, l.manual, ({parts/first_ready_gate}) as ready, ({parts/first_unready_gate}) as unready
    from (
        select id, name, gate, sealed, manual from (
            select id, name, gate, sealed, manual from rowlock_lists
            where wake_at <= {now} and not exclusive and state = 'open' order by wake_at, id limit :window offset :skip_shared
        ) as shared
        union all
        select id, name, gate, sealed, manual from (
            select id, name, gate, sealed, manual from rowlock_lists
            where wake_at <= {now} and exclusive and not leased and state = 'open' order by wake_at, id limit :window offset :skip_free
        ) as free
    ) as l
) as seen
where coalesce(seen.ready, seen.gate + 1) > seen.gate and coalesce(seen.unready, seen.gate + 1) > seen.gate
    and (seen.sealed or not seen.manual and seen.ready is not null)
limit :limit
