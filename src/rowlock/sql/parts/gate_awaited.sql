-- Whether something waits for the gate of a list l: its completion, or a ready item at a later gate. See `first_ready`.
l.state = 'open' and (l.sealed or not l.manual and (
    select i.gate from rowlock_items i
    where i.list = l.id and i.gate > l.gate and i.due is null and i.failed_at is null
    order by i.gate limit 1
) is not null)
