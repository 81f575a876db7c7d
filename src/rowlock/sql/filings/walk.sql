-- Subscriptions under one key that a record fulfils, strictly after one of them: a key with a million is walked in pages.
-- Moments as in match.
with {parts/later}
select f.sort, f.subscription, f.part, f.checks
from rowlock_filings f
where f.key = :key and f.sort between :low and :high
    and (f.sort, f.subscription, f.part)
        > (cast(:sort as bigint), cast(:subscription as bigint), cast(:part as bigint))
    and {parts/seen}
    and {parts/fulfils}
order by f.sort, f.subscription, f.part limit :limit
