-- The calls are answered: their lists are awake until somebody finds nothing in them. Also one that is awake is written:
-- whoever is about to put it to sleep may have looked before the call came. It need not be flushed: calls whose answer a
-- crash forgets are answered again.
with called as (
    delete from rowlock_wakes where ctid in (select ctid from rowlock_wakes limit 1000 for update skip locked)
    returning list
)
update rowlock_lists l set wake_at = least(coalesce(l.wake_at, {now}), {now}),
    leased = l.exclusive and exists (select 1 from rowlock_leases h where h.list = l.id)
where l.id in (select called.list from called)
returning set_config('synchronous_commit', 'off', true)
