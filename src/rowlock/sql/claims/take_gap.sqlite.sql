-- SQLite: two statements, because it cannot write inside a with; subselects instead of lateral joins.
insert into rowlock_claims
    (token, session, list, gate, priority, low, high, taken, remaining, attempts, alone, taken_at)
with lane as (
    select l.id as list, l.gate, p.value as priority
    from rowlock_lists l, json_each('[0,1,2,3,4,5,6,7,8,9]') as p
    where {parts/claimable_list} and (l.lanes >> p.value) & 1 = 1
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
{parts/claim_from_start};
{parts/claimed_items}
