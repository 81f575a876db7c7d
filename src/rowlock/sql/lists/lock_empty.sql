-- Locks lists that have no items against adds until commit. It waits for no lock: a list that is locked already is left out.
-- Sealed, exclusive and limited lists need a search. Never at repeatable read, for the reason in `lock_exclusive_nowait`. A list
-- that a crash leaves awake is put to sleep again, so it need not be flushed.
select l.id, set_config('synchronous_commit', 'off', true) from rowlock_lists l
where l.name {among_keys} and l.state = 'open' and not l.sealed and not l.exclusive and l.limits is null and {sees_commits}
    and (select i.key from rowlock_items i where i.list = l.id order by i.key limit 1) is null
{skip}
