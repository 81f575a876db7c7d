-- Entries under one key that a record fulfils, strictly after one of them: a key with a million entries is read in pages.
select f.sort, f.subscription, f.part, f.checks
from ({parts/record_values}) as p cross join rowlock_filings f
where f.key = :key and f.sort between :low and :high
    and (f.sort, f.subscription, f.part)
        > (cast(:sort as bigint), cast(:subscription as bigint), cast(:part as bigint))
    and {parts/entry_visible}
    and {parts/entry_matches}
order by f.sort, f.subscription, f.part limit :limit
