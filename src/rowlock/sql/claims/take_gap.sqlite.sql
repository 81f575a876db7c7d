-- Two statements, for SQLite cannot write inside a with; probes are subselects, for it has no lateral joins.
insert into rowlock_claims
    (token, session, list, gate, priority, low, high, taken, remaining, attempts, alone, taken_at)
with lane as (
    select l.id as list, l.gate, p.value as priority
    from rowlock_lists l, json_each('[0,1,2,3,4,5,6,7,8,9]') as p
    where l.name = :name and l.state = 'open' and (l.lanes >> p.value) & 1 = 1
        and exists (select 1 from rowlock_sessions s where s.id = :session)
        and (not l.exclusive or (
            exists (select 1 from rowlock_leases h where h.list = l.id and h.session = :session and h.asked_by is null)
            and not exists (select 1 from rowlock_claims c where c.list = l.id)
        ))
),
gap as (
    select lane.list, lane.gate, lane.priority, 0 as low from lane
    union all
    select c.list, c.gate, c.priority, c.high from lane join rowlock_claims c on c.list = lane.list and c.gate = lane.gate and c.priority = lane.priority
),
probe as materialized (
    select g.list, g.gate, g.priority, (
        select c.low from rowlock_claims c where c.list = g.list and c.gate = g.gate and c.priority = g.priority and c.high > g.low
        order by c.high limit 1
    ) as until, (
        select i.position from rowlock_items i
        where i.list = g.list and i.gate = g.gate and i.priority = g.priority and i.due is null and i.failed_at is null and i.position > g.low
        order by i.position limit 1
    ) as position
    from gap g
),
start as (
    select list, gate, priority, position - 1 as low, position, until from probe
    where position is not null and (until is null or position <= until)
    order by priority, position limit 1
),
bound as materialized (
    select s.list, s.gate, s.priority, s.low, min(coalesce(s.until, 9223372036854775807), coalesce(
        (select s.position from rowlock_suspects x
            where x.list = s.list and x.gate = s.gate and x.priority = s.priority and x.low < s.position and x.high >= s.position limit 1),
        (select min(x.low) from rowlock_suspects x where x.list = s.list and x.gate = s.gate and x.priority = s.priority and x.low >= s.position),
        9223372036854775807
    )) as high, exists (
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
