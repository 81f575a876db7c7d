-- Whether something waits for this list's gate to be done with: items at a later one, or its completion.
select 1 from rowlock_lists l
where l.id = :list and l.state = 'open' and (l.sealed or not l.manual and exists (
    select 1 from rowlock_items i
    where i.list = l.id and i.gate > l.gate and i.due is null and i.failed_at is null
))
