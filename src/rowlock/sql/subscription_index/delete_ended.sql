-- Removed entries that no unmatched record can find. A moment that was deleted came before all unmatched records.
delete from rowlock_filings where (key, sort, subscription, part) in (
    select f.key, f.sort, f.subscription, f.part from rowlock_filings f
    where f.gone is not null and not exists (
        select 1 from rowlock_moments g
        where g.id = f.gone and g.seq > (select min(m.seq) from rowlock_records r join rowlock_moments m on m.id = r.moment where r.matched_at is null)
    )
    limit :limit
)
