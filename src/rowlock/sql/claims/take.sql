-- One interval after the frontier of the most urgent lane that has ready items: one row, however many items.
-- The frontier is the high end of the last live claim; the floors say how far the caller has seen, so that nothing
-- settled before is walked over again. Suspect intervals are handed out one item at a time. An exclusive list is handed
-- out from its beginning, in order, to the one who has it and has nothing of it in hand; one with limits, by a thorough look.
with lane as (
    select l.id as list, l.gate, cast(p.number - 1 as smallint) as priority, case when l.exclusive then 0 else p.floor end as floor
    from rowlock_lists l cross join unnest(cast(translate(:floors, '[]', '{}') as bigint[])) with ordinality as p (floor, number)
    where l.name = :name and l.state = 'open' and l.limits is null and (l.lanes >> cast(p.number - 1 as integer)) & 1 = 1
        and exists (select 1 from rowlock_sessions s where s.id = :session)
        and (not l.exclusive or (
            exists (select 1 from rowlock_leases h where h.list = l.id and h.session = :session and h.asked_by is null)
            and not exists (select 1 from rowlock_claims c where c.list = l.id)
        ))
),
start as materialized (
    select lane.list, lane.gate, lane.priority, front.low, first.position
    from lane
    cross join lateral (
        -- With an offset it is looked up once, not where it is used.
        select greatest(lane.floor, (
            select c.high from rowlock_claims c
            where c.list = lane.list and c.gate = lane.gate and c.priority = lane.priority and c.high > lane.floor
            order by c.high desc limit 1
        )) as low offset 0
    ) as front
    cross join lateral (
        select i.position from rowlock_items i
        where i.list = lane.list and i.gate = lane.gate and i.priority = lane.priority
            and i.due is null and i.failed_at is null and i.position > front.low
        order by i.position limit 1
    ) as first
    order by lane.priority limit 1
),
bound as (
    select s.list, s.gate, s.priority, s.low, coalesce(suspect.alone, false) as alone,
        coalesce(case when suspect.around then s.position else suspect.later end, 9223372036854775807) as high
    from start s cross join lateral (
        select bool_or(x.low < s.position) as around, bool_or(x.low < s.position and x.deaths > 1) as alone,
            min(x.low) filter (where x.low >= s.position) as later
        from rowlock_suspects x where x.list = s.list and x.gate = s.gate and x.priority = s.priority and x.high >= s.position
    ) as suspect
),
next as materialized (
    select b.list, b.gate, b.priority, b.low, b.alone, line.position, line.key, line.attempts, line.version, line.data, line.trace
    from bound b cross join lateral (
        select i.position, i.key, i.attempts, i.version, i.data, i.trace from rowlock_items i
        where i.list = b.list and i.gate = b.gate and i.priority = b.priority and i.due is null and i.failed_at is null
            and i.position > b.low and i.position <= b.high
        order by i.position limit :limit
    ) as line
),
took as (
    insert into rowlock_claims
        (token, session, list, gate, priority, low, high, taken, remaining, attempts, alone, taken_at)
    select :token, :session, min(n.list), min(n.gate), min(n.priority), min(n.low), max(n.position), count(*), count(*),
        cast(:attempts as integer), bool_or(n.alone), {now}
    from next n having count(*) > 0
)
select list, gate, priority, low, alone, position, key, attempts, version, data, trace from next order by position
