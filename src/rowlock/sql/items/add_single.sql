-- One key as a transaction of its own: lock, checks, insert, tally and wake in one round trip. The list's row is shared until
-- commit, and the version that was locked decides. Where it does not fit nothing is written, and `add` says why or makes it fit.
with target as materialized (
    select l.id, coalesce(cast(:gate as integer), l.gate) as gate, cast(l.limits as json) -> 'by' ->> 'separator' as separator,
        (l.wake_at is null or l.wake_at > {now}) and not {wake_is_pending} as needs_wake,
        not l.sealed and not l.once and (l.lanes >> cast(:priority as integer)) & 1 = 1
            and coalesce(cast(:gate as integer), l.gate) >= l.gate as fits
    from rowlock_lists l where l.name = :name {share}
),
added as (
    insert into rowlock_items (list, key, position, gate, priority, due, family, {payload_columns})
    select t.id, :key, nextval('rowlock_positions'), t.gate, :priority, {now} + nullif(cast(:delay as bigint), 0),
        split_part(:key, t.separator, 1), {payload_parameters}
    from target t where t.fits
    on conflict (list, key) do nothing
    returning list, gate, due
),
recorded as (
    insert into rowlock_tallies (list, gate, at, added, items_change, delayed_change)
    select a.list, a.gate, {now}, 1, 1, case when a.due is not null then 1 end from added a
),
woken as (
    insert into rowlock_wakes (list) select t.id from target t cross join added where t.needs_wake {notify}
)
select t.fits, (select count(*) from added) as changed from target t
