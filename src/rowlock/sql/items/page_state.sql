-- Walks the list until the page is full: states but failed are no columns. Ranged as in page; the second case keeps
-- the planner from taking a state for rare, which would have it sort the whole list.
select l.name, i.key, i.position, i.gate, i.priority, i.attempts, i.due, i.failed_at, i.version, i.data, i.trace, i.state
from rowlock_lists l cross join lateral (
    select page.key, page.position, page.gate, page.priority, page.attempts, page.due, page.failed_at, page.version,
        page.data, page.trace, page.state
    from (
        select i.list, i.key, i.position, i.gate, i.priority, i.attempts, i.due, i.failed_at, i.version, i.data, i.trace,
            {parts/state} as state
        from rowlock_items i
        where (i.list, i.key) > (l.id, :after) and i.list <= l.id
    ) as page
    where case when page.state = :state then true else false end
    order by page.list, page.key limit :limit
) as i
where l.name = :list
order by i.key
