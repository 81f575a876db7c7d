-- Those of the keys whose items match a filter; the rows are locked already.
select i.key
from (
    select i.list, i.key, i.attempts, i.gate, i.due, i.failed_at, {parts/state} as state
    from rowlock_items i cross join rowlock_lists l
    where l.id = :list and i.list = :list and i.key {among_keys}
) as i
where {parts/matches_filter}
order by i.key
