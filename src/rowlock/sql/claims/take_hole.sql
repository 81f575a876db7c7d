-- Ready items that no live claim covers, from the beginning: released intervals, rows committed late, items that came
-- back. The interval ends before the next live claim, so that claims never overlap.
with lane as (
    select l.id as list, l.gate, cast(p.priority as smallint) as priority,
        coalesce(cast(cast(:floors as json) ->> cast(p.priority as text) as bigint), 0) as floor
    from rowlock_lists l cross join generate_series(0, 9) as p (priority)
    where l.name = :name and l.state = 'open'
        and exists (select 1 from rowlock_sessions s where s.id = :session)
),
start as (
    select lane.list, lane.gate, lane.priority, first.position - 1 as low, first.position
    from lane
    cross join lateral (
        select i.position from rowlock_items i
        where i.list = lane.list and i.gate = lane.gate and i.priority = lane.priority and i.due is null and i.failed_at is null
            and not exists (
                select 1 from rowlock_claims c
                where c.list = i.list and c.gate = i.gate and c.priority = i.priority and c.low < i.position and c.high >= i.position
            )
        order by i.position limit 1
    ) as first
    order by lane.priority limit 1
),
bound as (
    select s.list, s.gate, s.priority, s.low, least((select min(c.low) from rowlock_claims c where c.list = s.list and c.gate = s.gate and c.priority = s.priority and c.low >= s.position), coalesce(
        (select s.position from rowlock_suspects x
            where x.list = s.list and x.gate = s.gate and x.priority = s.priority and x.low < s.position and x.high >= s.position limit 1),
        (select min(x.low) from rowlock_suspects x where x.list = s.list and x.gate = s.gate and x.priority = s.priority and x.low >= s.position),
        9223372036854775807
    )) as high
    from start s
),
next as materialized (
    select i.position, i.key, i.attempts, i.version, i.data
    from bound b join rowlock_items i on i.list = b.list and i.gate = b.gate and i.priority = b.priority
    where i.due is null and i.failed_at is null and i.position > b.low and i.position <= b.high
    order by i.position limit :limit
),
took as (
    insert into rowlock_claims
        (token, session, list, gate, priority, low, high, taken, remaining, attempts, taken_at)
    select :token, :session, b.list, b.gate, b.priority, b.low, max(n.position), count(*), count(*),
        cast(:attempts as integer), {now}
    from bound b cross join next n group by b.list, b.gate, b.priority, b.low
    returning list, gate, priority, low
)
select t.list, t.gate, t.priority, t.low, n.position, n.key, n.attempts, n.version, n.data
from took t cross join next n order by n.position
