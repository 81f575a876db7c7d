-- Removed subscriptions that no unmatched record can find. A moment that was deleted came before all unmatched records.
-- The last ones are kept for a while, because matchers in memory must learn of their removal.
delete from rowlock_subscriptions where (id) in (
    select f.id from rowlock_subscriptions f
    where f.gone is not null and not exists (
        select 1 from rowlock_moments g
        where g.id = f.gone and g.seq > (select min(m.seq) from rowlock_records r join rowlock_moments m on m.id = r.moment where r.matched_at is null)
        union all
        select 1 from rowlock_moments g where g.id = f.gone and g.seq > (select max(m.seq) from rowlock_moments m) - :keep
    )
    limit :limit
)
