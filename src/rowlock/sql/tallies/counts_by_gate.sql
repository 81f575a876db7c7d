-- The sums of all tallies of each gate, and what is overdue or claimed at the open gate: one statement, so that all of it
-- is seen at one moment and no count is negative.
select gate, cast(sum(added) as bigint) as added, cast(sum(done) as bigint) as done,
    cast(sum(retried) as bigint) as retried, cast(sum(moved) as bigint) as moved, cast(sum(failed) as bigint) as failed,
    cast(sum(abandoned) as bigint) as abandoned, cast(sum(items_change) as bigint) as items_change,
    cast(sum(delayed_change) as bigint) as delayed_change, cast(sum(failed_change) as bigint) as failed_change,
    (select count(*) from rowlock_items i where i.list = :list and i.gate <= :open and i.due <= {now}) as overdue,
    (select cast(coalesce(sum((
        select count(*) from rowlock_items i
        where i.list = c.list and i.gate = c.gate and i.priority = c.priority and i.due is null and i.failed_at is null
            and i.position > c.low and i.position <= c.high
    )), 0) as bigint) from rowlock_claims c where c.list = :list and c.gate = :open) as claimed
from ({parts/all_tallies}) as t where t.list = :list group by t.gate order by t.gate
