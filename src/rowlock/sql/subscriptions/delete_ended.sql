-- What has gone, and no record that is still to be matched can need; moments that are no more were before all of them.
-- The last ones stay a while: copies in memory must learn of them.
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
