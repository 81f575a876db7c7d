-- One interval after the frontier of the most urgent lane that has ready items: one row, however many items.
-- The frontier is the high end of the last live claim; the floors say how far the caller has seen, so that nothing
-- settled before is walked over again. Suspect intervals are handed out one item at a time. An exclusive list is handed
-- out from its beginning, in order, to the one who has it and has nothing of it in hand; one with limits, by a thorough look.
with lane as (
    select l.id as list, l.gate, cast(p.priority as smallint) as priority,
        case when l.exclusive then 0
            else coalesce(cast(cast(:floors as json) ->> cast(p.priority as text) as bigint), 0) end as floor
    from rowlock_lists l cross join generate_series(0, 9) as p (priority)
    where l.name = :name and l.state = 'open' and l.limits is null and (l.lanes >> p.priority) & 1 = 1
        and exists (select 1 from rowlock_sessions s where s.id = :session)
        and (not l.exclusive or (
            exists (select 1 from rowlock_leases h where h.list = l.id and h.session = :session and h.asked_by is null)
            and not exists (select 1 from rowlock_claims c where c.list = l.id)
        ))
),
start as (
    select lane.list, lane.gate, lane.priority, front.low, first.position
    from lane
    cross join lateral (
        select greatest(lane.floor, (
            select c.high from rowlock_claims c
            where c.list = lane.list and c.gate = lane.gate and c.priority = lane.priority and c.high > lane.floor
            order by c.high desc limit 1
        )) as low
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
    select s.list, s.gate, s.priority, s.low, coalesce(
        (select s.position from rowlock_suspects x
            where x.list = s.list and x.gate = s.gate and x.priority = s.priority and x.low < s.position and x.high >= s.position limit 1),
        (select min(x.low) from rowlock_suspects x where x.list = s.list and x.gate = s.gate and x.priority = s.priority and x.low >= s.position),
        9223372036854775807
    ) as high, exists (
        select 1 from rowlock_suspects x
        where x.list = s.list and x.gate = s.gate and x.priority = s.priority and x.low < s.position and x.high >= s.position
            and x.deaths > 1
    ) as alone
    from start s
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
    select :token, :session, n.list, n.gate, n.priority, n.low, max(n.position), count(*), count(*),
        cast(:attempts as integer), n.alone, {now}
    from next n group by n.list, n.gate, n.priority, n.low, n.alone
)
select list, gate, priority, low, alone, position, key, attempts, version, data, trace from next order by position
