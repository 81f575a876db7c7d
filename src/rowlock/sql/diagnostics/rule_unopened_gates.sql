-- A list sleeps although it can advance: nothing is left at its gate, and later items or its completion wait.
select l.name, l.gate from rowlock_lists l
where l.state = 'open' and (l.wake_at is null or l.wake_at > {now} + 1000)
    and not exists (select 1 from rowlock_wakes w where w.list = l.id)
    and not exists (select 1 from rowlock_items i where i.list = l.id and i.gate = l.gate)
    and (l.sealed and not exists (select 1 from rowlock_items i where i.list = l.id)
        or not l.manual and exists (select 1 from rowlock_items i where i.list = l.id and i.gate > l.gate))
order by l.name limit 100
