-- Makes lists awake for which a wake was requested. Also a list that is awake is written: a claimer that is about to put it to
-- sleep may have looked before the request. It need not be flushed: requests whose update a crash loses are applied again.
-- The flag `leased` is only ever taken away here: after a wait for the row, the look at its lease is older than the row.
with called as (
    delete from rowlock_wakes where ctid in (select ctid from rowlock_wakes limit 1000 for update skip locked)
    returning list
)
update rowlock_lists l set wake_at = least(coalesce(l.wake_at, {now}), {now}),
    leased = l.leased and l.exclusive and exists (select 1 from rowlock_leases h where h.list = l.id)
where l.id in (select called.list from called)
returning set_config('synchronous_commit', 'off', true)
