-- SQLite: there is one writer at a time, so the number of a moment is its place in the commit order.
delete from rowlock_subscriptions where (id) in (
    select f.id from rowlock_subscriptions f
    where f.gone is not null and f.gone <= coalesce((select min(r.moment) from rowlock_records r where r.matched_at is null), 9223372036854775807)
        and f.gone <= (select max(g.id) from rowlock_moments g) - :keep
    limit :limit
)
