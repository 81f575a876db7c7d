-- Failed items whose last error contains a text, a page at a time.
select i.key
from rowlock_items i join rowlock_errors e on e.list = i.list and e.key = i.key
where i.list = :list and i.failed_at is not null and i.key > :after and e.id = (
    select max(last.id) from rowlock_errors last where last.list = i.list and last.key = i.key
) and (e.message like :pattern escape '!' or e.shape like :pattern escape '!' or e.kind = :kind)
order by i.key limit :limit
