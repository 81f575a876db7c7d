-- SQLite: subselects instead of lateral joins; `insert … with` instead of a write inside a with.
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
from bound b, next n having count(*) > 0
