-- The first gate of a list l, from the open one on, that has a ready item. With an order and a limit: `exists` lets the planner
-- read the items of all lists into a hash table.
select i.gate from rowlock_items i
where i.list = l.id and i.gate >= l.gate and i.due is null and i.failed_at is null
order by i.gate limit 1
