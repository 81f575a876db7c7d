-- What is at each gate now, what has ever happened there, and of the list's open gate what is overdue or claimed:
-- one statement, so that all of it is seen at one moment and nothing comes out negative.
select gate, cast(sum(added) as bigint), cast(sum(done) as bigint), cast(sum(retried) as bigint),
    cast(sum(moved) as bigint), cast(sum(failed) as bigint), cast(sum(abandoned) as bigint),
    cast(sum(items_change) as bigint), cast(sum(delayed_change) as bigint), cast(sum(failed_change) as bigint),
    (select count(*) from rowlock_items i where i.list = :list and i.gate <= :open and i.due <= {now}),
    (select cast(coalesce(sum((
        select count(*) from rowlock_items i
        where i.list = c.list and i.gate = c.gate and i.priority = c.priority and i.due is null and i.failed_at is null
            and i.position > c.low and i.position <= c.high
    )), 0) as bigint) from rowlock_claims c where c.list = :list and c.gate = :open)
from rowlock_tallies where list = :list group by gate order by gate
