-- Lists that could go on, had anybody looked: the last item left their gate and no worker of theirs came by since. Those in
-- a worker's hands are looked at by it. Of many that are awake only so many are looked at, from anywhere among them.
select l.name from (
    select id, name, gate, sealed, manual from (
        select id, name, gate, sealed, manual from rowlock_lists
        where wake_at <= {now} and not exclusive and state = 'open' order by wake_at, id limit :window offset :skip_shared
    ) as shared
    union all
    select id, name, gate, sealed, manual from (
        select id, name, gate, sealed, manual from rowlock_lists
        where wake_at <= {now} and exclusive and not leased and state = 'open' order by wake_at, id limit :window offset :skip_free
    ) as free
) as l
where not exists (
        select 1 from rowlock_items i
        where i.list = l.id and i.gate = l.gate and i.due is null and i.failed_at is null
    )
    and not exists (select 1 from rowlock_items i where i.list = l.id and i.failed_at is not null and i.gate = l.gate)
    and (l.sealed or not l.manual and exists (
        select 1 from rowlock_items i
        where i.list = l.id and i.gate > l.gate and i.due is null and i.failed_at is null
    ))
limit :limit
