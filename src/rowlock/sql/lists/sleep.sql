-- Nothing free is left: sleep until the next delayed item is due, or until somebody wakes the list. While somebody has a
-- claim, a second at most: a row committed late inside its interval is free when the claim ends, and nobody calls. Also
-- where nothing is left at the gate any more and something waits for that: it was settled since somebody looked.
update rowlock_lists
set wake_at = (
    select min(next.at) from (
        select (select i.due from rowlock_items i where i.list = :list and i.due is not null order by i.due limit 1) as at
        union all
        select (select {now} + 1000 from rowlock_claims c where c.list = :list limit 1)
        union all
        select {now} + 1000 from (
            select l.id, l.gate, l.sealed, l.manual, ({parts/first_ready_gate}) as ready, ({parts/first_unready_gate}) as unready
            from rowlock_lists l where l.id = :list
        ) as l
        where coalesce(l.ready, l.gate + 1) > l.gate and coalesce(l.unready, l.gate + 1) > l.gate and (
            l.sealed and (select i.list from rowlock_items i where i.list = l.id order by i.key limit 1) is null
            or not l.manual and coalesce(l.ready, l.unready) is not null
        )
    ) as next
)
where id = :list and state = 'open'
