-- For how long the first free item of each list has waited, at least: since the first watermark at or after its position. The
-- first item of each lane is found by the index of ready items.
select x.id as list, {now} - (select m.at from rowlock_marks m where m.position >= x.position order by m.position limit 1) as age
from (
    select l.id, (
        select min((
            select i.position from rowlock_items i
            where i.list = l.id and i.gate = l.gate and i.priority = lane.priority and i.due is null and i.failed_at is null
                and not exists (
                    select 1 from rowlock_claims c
                    where c.list = i.list and c.gate = i.gate and c.priority = i.priority
                        and c.low < i.position and c.high >= i.position
                )
            order by i.position limit 1
        ))
        from (
            select 0 as priority union all select 1 union all select 2 union all select 3 union all select 4 union all select 5
            union all select 6 union all select 7 union all select 8 union all select 9
        ) as lane
        where (l.lanes >> lane.priority) & 1 = 1
    ) as position
    from rowlock_lists l where l.id in ({ids})
) as x
where x.position is not null
