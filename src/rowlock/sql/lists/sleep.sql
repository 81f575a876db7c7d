-- Nothing free is left: sleep until the next delayed item is due, or until somebody wakes the list. While somebody has a
-- claim, a second at most: a row committed late inside its interval is free when the claim ends, and nobody calls. Also
-- where nothing is left at the gate any more and something waits for that: it was settled since somebody looked.
update rowlock_lists
set wake_at = (
    select min(next.at) from (
        select (select min(i.due) from rowlock_items i where i.list = :list and i.due is not null) as at
        union all
        select (select {now} + 1000 from rowlock_claims c where c.list = :list limit 1)
        union all
        select {now} + 1000 from rowlock_lists l
        where l.id = :list and not exists (select 1 from rowlock_items i where i.list = l.id and i.gate = l.gate) and (
            l.sealed and not exists (select 1 from rowlock_items i where i.list = l.id)
            or not l.manual and exists (select 1 from rowlock_items i where i.list = l.id and i.gate > l.gate)
        )
    ) as next
)
where id = :list and state = 'open'
