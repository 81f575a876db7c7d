-- Failed items of a topic's lists, a page at a time, in the order of lists and keys.
select l.name as list, i.key
from rowlock_lists l join rowlock_items i on i.list = l.id and i.failed_at is not null
where l.name >= :prefix and l.name < :beyond and (l.name, i.key) > (:after_list, :after_key)
order by l.name, i.key limit :limit
