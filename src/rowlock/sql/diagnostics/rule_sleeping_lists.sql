-- A list sleeps although an item is free, or is due before the list wakes: no worker would examine it in time.
select l.name, i.key from rowlock_lists l join rowlock_items i on i.list = l.id and i.gate = l.gate
where l.state = 'open' and i.failed_at is null and not exists (select 1 from rowlock_wakes w where w.list = l.id) and (
    (i.due is not null and (l.wake_at is null or l.limits is null and l.wake_at > i.due and l.wake_at > {now}))
    or (i.due is null and (l.wake_at is null or l.limits is null and l.wake_at > {now} + 1000) and not exists (
        select 1 from rowlock_claims c
        where c.list = i.list and c.gate = i.gate and c.priority = i.priority and c.low < i.position and c.high >= i.position
    ))
)
order by l.name, i.key limit 100
