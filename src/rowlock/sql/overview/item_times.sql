-- How long an item waited before it was claimed, or until now: since the first watermark at or after its position.
select
    case when t.since <= t.until then (t.until - t.since) / 1000.0 end as waited_seconds,
    ({now} - t.taken_at) / 1000.0 as held_seconds, t.holder
from (
    select c.taken_at, s.holder, coalesce(c.taken_at, {now}) as until, (
            select m.at from rowlock_marks m where m.position >= i.position order by m.position limit 1
        ) as since
    from rowlock_items i
        left join rowlock_claims c on c.list = i.list and c.gate = i.gate and c.priority = i.priority
            and c.low < i.position and c.high >= i.position and i.due is null and i.failed_at is null
        left join rowlock_sessions s on s.id = c.session
    where i.list = :list and i.key = :key
) as t
