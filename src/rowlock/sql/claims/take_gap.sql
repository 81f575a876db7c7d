-- The first ready items that no live claim covers, wherever they stand: released intervals, rows committed late, items
-- that came back. A gap begins at the start or where a claim ends, and ends where the next claim begins: claims never
-- overlap, and the search costs a probe per live claim, not per claimed item.
with lane as (
    select l.id as list, l.gate, cast(p.priority as smallint) as priority
    from rowlock_lists l cross join generate_series(0, 9) as p (priority)
    where {parts/claimable_list} and (l.lanes >> p.priority) & 1 = 1
),
start as (
    select lane.list, lane.gate, lane.priority, first.position - 1 as low, first.position, first.until
    from lane
    cross join lateral (
        select i.position, following.low as until
        from (
            select 0 as low
            union all
            select c.high from rowlock_claims c where c.list = lane.list and c.gate = lane.gate and c.priority = lane.priority
        ) as gap
        cross join lateral (
            select (
                select c.low from rowlock_claims c
                where c.list = lane.list and c.gate = lane.gate and c.priority = lane.priority and c.high > gap.low
                order by c.high limit 1
            ) as low
        ) as following
        cross join lateral (
            select i.position from rowlock_items i
            where i.list = lane.list and i.gate = lane.gate and i.priority = lane.priority
                and i.due is null and i.failed_at is null and i.position > gap.low
            order by i.position limit 1
        ) as i
        where following.low is null or i.position <= following.low
        order by i.position limit 1
    ) as first
    order by lane.priority limit 1
),
{parts/claim_from_start}
