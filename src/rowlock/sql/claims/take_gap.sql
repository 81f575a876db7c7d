-- The first ready items that no live claim covers, wherever they stand: released intervals, rows committed late, items
-- that came back. A hole begins at the start or where a claim ends, and ends where the next claim begins: claims never
-- overlap, and the search costs a probe per live claim, not per item in hand. Nothing is said of being alone where no
-- suspects are ahead.
with lane as (
    select l.id as list, l.gate, cast(p.priority as smallint) as priority
    from rowlock_lists l cross join generate_series(0, 9) as p (priority)
    where l.name = :name and l.state = 'open' and (l.lanes >> p.priority) & 1 = 1
        and exists (select 1 from rowlock_sessions s where s.id = :session)
        and (not l.exclusive or (
            exists (select 1 from rowlock_leases h where h.list = l.id and h.session = :session and h.asked_by is null)
            and not exists (select 1 from rowlock_claims c where c.list = l.id)
        ))
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
bound as (
    select s.list, s.gate, s.priority, s.low, suspect.alone,
        least(s.until, coalesce(case when suspect.around then s.position else suspect.later end, 9223372036854775807)) as high
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
        cast(:attempts as integer), coalesce(bool_or(n.alone), false), {now}
    from next n having count(*) > 0
)
select list, gate, priority, low, alone, position, key, attempts, version, data, trace from next order by position
