-- SQLite: two statements, because it cannot write inside a with; `json_each` instead of `unnest`.
insert into rowlock_claims
    (token, session, list, gate, priority, low, high, taken, remaining, attempts, alone, taken_at)
with lane as (
    select l.id as list, l.gate, p.key as priority, case when l.exclusive then 0 else p.value end as floor
    from rowlock_lists l, json_each(:floors) as p
    where {parts/claimable_list} and l.limits is null and (l.lanes >> p.key) & 1 = 1
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
start as (
    select list, gate, priority, low, position, null as until from first
    where position is not null order by priority limit 1
),
{parts/claim_from_start};
{parts/claimed_items}
