-- Failed items by the shape of their last error: many failures have one cause.
select e.kind, e.shape, count(*) as count, min(i.key) as example, max(e.at) as last
from rowlock_items i join rowlock_errors e on e.list = i.list and e.key = i.key
where i.list = :list and i.failed_at is not null and e.id = (
    select max(last.id) from rowlock_errors last where last.list = i.list and last.key = i.key
)
group by e.kind, e.shape order by count(*) desc, e.shape limit :limit
