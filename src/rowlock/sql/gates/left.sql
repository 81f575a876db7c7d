-- Where the list is, and whether anything unfinished stands there: ready, claimed, delayed or failed. If nothing does,
-- the first later gate where anything stands.
select here.name, here.gate, here.state, here.sealed, here.manual, here.settings, here.busy,
    case when not here.busy then (
        select min(later.gate) from (
            select min(i.gate) as gate from rowlock_items i
            where i.list = :list and i.gate > here.gate and i.due is null and i.failed_at is null
            union all
            select min(i.gate) from rowlock_items i where i.list = :list and i.gate > here.gate and i.due is not null
            union all
            select min(i.gate) from rowlock_items i where i.list = :list and i.gate > here.gate and i.failed_at is not null
        ) as later
    ) end
from (
    select l.name, l.gate, l.state, l.sealed, l.manual, l.settings,
        exists (
            select 1 from rowlock_items i
            where i.list = l.id and i.gate = l.gate and i.due is null and i.failed_at is null
        )
        or exists (select 1 from rowlock_items i where i.list = l.id and i.failed_at is not null and i.gate = l.gate)
        or exists (select 1 from rowlock_items i where i.list = l.id and i.due is not null and i.gate = l.gate) as busy
    from rowlock_lists l where l.id = :list
) as here
