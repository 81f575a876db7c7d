-- Of the scanned items those that match, with their last error; and the last one scanned, where the next page begins.
stated as (
    select i.list, i.key, i.attempts, i.gate, i.priority, i.due, i.failed_at, {parts/state} as state,
        row_number() over (order by i.key) as place
    from scanned i cross join rowlock_lists l where l.id = :list
),
judged as (
    select i.*, case when {parts/matches_filter} then true else false end as matches from stated i
)
select i.key, i.state, i.attempts, i.gate, i.priority, i.due, i.failed_at, i.place, i.matches,
    (select e.kind from rowlock_errors e where e.list = i.list and e.key = i.key order by e.id desc limit 1) as kind,
    (select e.message from rowlock_errors e where e.list = i.list and e.key = i.key order by e.id desc limit 1) as error
from judged i where i.matches or i.place = :scan
order by i.key limit :limit
