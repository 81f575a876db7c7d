-- SQLite: there is one writer at a time, so the number of a moment is its place in the commit order.
delete from rowlock_filings where (key, sort, subscription, part) in (
    select f.key, f.sort, f.subscription, f.part from rowlock_filings f
    where f.gone is not null and f.gone <= coalesce((select min(r.moment) from rowlock_records r where r.matched_at is null), 9223372036854775807)
    limit :limit
)
