-- One key as a transaction of its own: deletion and tally in one round trip. Only where nothing waits for the open gate, and
-- neither results nor keys are kept; otherwise nothing is changed, and `done` looks further.
with target as materialized (
    select l.id, not ({parts/gate_awaited}) and not l.once
        and cast(l.settings as json) ->> 'keep_results' is distinct from 'true' as fits
    from rowlock_lists l where l.name = :name
),
removed as (
    delete from rowlock_items where list = (select t.id from target t where t.fits) and key = :key
    returning list, gate, due, failed_at
),
recorded as (
    insert into rowlock_tallies (list, gate, at, done, items_change, delayed_change, failed_change)
    select r.list, r.gate, {now}, 1, -1, case when r.due is not null then -1 end,
        case when r.failed_at is not null then -1 end
    from removed r
)
select t.fits, (select count(*) from removed) as changed from target t
