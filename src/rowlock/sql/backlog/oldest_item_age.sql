-- The list's first free item has waited at least since the first watermark at or after its position.
select {now} - (select m.at from rowlock_marks m where m.position >= first.position order by m.position limit 1)
from (
    select min(i.position) as position from rowlock_lists l join rowlock_items i on i.list = l.id and i.gate = l.gate
    where l.name = :name and i.due is null and i.failed_at is null and not exists (
        select 1 from rowlock_claims c
        where c.list = i.list and c.gate = i.gate and c.priority = i.priority and c.high >= i.position and c.low < i.position
    )
) as first
