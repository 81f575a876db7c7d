-- How many of the scanned items match, and the last one if there may be more.
stated as (
    select i.list, i.key, i.attempts, i.gate, i.due, i.failed_at, {parts/state} as state
    from scanned i cross join rowlock_lists l where l.id = :list
)
select count(case when {parts/matches_filter} then 1 end) as count,
    case when count(*) = :scan then max(i.key) end as next
from stated i
