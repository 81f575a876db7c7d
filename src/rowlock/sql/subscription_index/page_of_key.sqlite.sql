-- SQLite: there is one writer at a time, so the number of a moment is its place in the commit order.
select f.sort, f.subscription, f.part, f.checks
from ({parts/record_values}) as p cross join rowlock_filings f
where f.key = :key and f.sort between :low and :high and (f.sort, f.subscription, f.part) > (:sort, :subscription, :part)
    and {parts/entry_visible}
    and {parts/entry_matches}
order by f.sort, f.subscription, f.part limit :limit
