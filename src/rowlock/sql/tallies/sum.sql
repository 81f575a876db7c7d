-- What is at each gate now, and what has ever happened there.
select gate, cast(sum(added) as bigint), cast(sum(done) as bigint), cast(sum(retried) as bigint),
    cast(sum(moved) as bigint), cast(sum(failed) as bigint), cast(sum(abandoned) as bigint),
    cast(sum(items_change) as bigint), cast(sum(delayed_change) as bigint), cast(sum(failed_change) as bigint),
    count(*)
from rowlock_tallies where list = :list group by gate order by gate
