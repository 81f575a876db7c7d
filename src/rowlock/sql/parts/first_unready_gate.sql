-- The first gate of a list l, from the open one on, that has a delayed or failed item.
select i.gate from rowlock_items i
where i.list = l.id and i.gate >= l.gate and coalesce(i.due, i.failed_at) is not null
order by i.gate limit 1
