-- Two statements, for SQLite cannot write inside a with.
insert into rowlock_claims
    (token, session, list, gate, priority, low, high, taken, remaining, attempts, alone, taken_at)
with lane as (
    select l.id as list, l.gate, p.key as priority, case when l.exclusive then 0 else p.value end as floor
    from rowlock_lists l, json_each(:floors) as p
    where l.name = :name and l.state = 'open' and l.limits is null and (l.lanes >> p.key) & 1 = 1
        and exists (select 1 from rowlock_sessions s where s.id = :session)
        and (not l.exclusive or (
            exists (select 1 from rowlock_leases h where h.list = l.id and h.session = :session and h.asked_by is null)
            and not exists (select 1 from rowlock_claims c where c.list = l.id)
        ))
),
front as materialized (
    select lane.list, lane.gate, lane.priority, max(lane.floor, coalesce((
        select c.high from rowlock_claims c
        where c.list = lane.list and c.gate = lane.gate and c.priority = lane.priority and c.high > lane.floor
        order by c.high desc limit 1
    ), 0)) as low
    from lane
),
first as materialized (
    select f.list, f.gate, f.priority, f.low, (
        select i.position from rowlock_items i
        where i.list = f.list and i.gate = f.gate and i.priority = f.priority and i.due is null and i.failed_at is null and i.position > f.low
        order by i.position limit 1
    ) as position
    from front f
),
start as (select list, gate, priority, low, position from first where position is not null order by priority limit 1),
bound as materialized (
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
next as (
    select i.position from rowlock_items i
    where i.list = (select list from bound) and i.gate = (select gate from bound)
        and i.priority = (select priority from bound) and i.due is null and i.failed_at is null
        and i.position > (select low from bound) and i.position <= (select high from bound)
    order by i.position limit :limit
)
select :token, :session, b.list, b.gate, b.priority, b.low, max(n.position), count(*), count(*), :attempts, b.alone, {now}
from bound b, next n having count(*) > 0;
{parts/claimed_items}
