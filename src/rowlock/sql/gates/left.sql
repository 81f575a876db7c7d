-- Where the list is, and whether anything unfinished stands there: ready, claimed, delayed or failed.
select l.name, l.gate, l.state, l.sealed, l.manual, l.settings,
    exists (
        select 1 from rowlock_items i
        where i.list = l.id and i.gate = l.gate and i.due is null and i.failed_at is null
    )
    or exists (select 1 from rowlock_items i where i.list = l.id and i.failed_at is not null and i.gate = l.gate)
    or exists (select 1 from rowlock_items i where i.list = l.id and i.due is not null and i.gate = l.gate)
from rowlock_lists l where l.id = :list
