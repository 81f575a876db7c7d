-- Makes waiting items ready, at the end of their line. Items that do not wait any more (done, abandoned, retried by hand) stay
-- as they are. Each is looked up by its key, and locked in the order of keys, so that two transactions never deadlock.
with waiting as (
    select i.list, i.key
    from (select w.list, w.key from rowlock_waiters w where w.awaited = :awaited order by w.list, w.key offset 0) as w
    cross join lateral (
        select x.list, x.key from rowlock_items x
        where x.list = w.list and x.key = w.key and x.due >= :waiting limit 1 for no key update
    ) as i
)
update rowlock_items as i set due = null, position = nextval('rowlock_positions'), version = i.version + 1
from waiting where i.list = waiting.list and i.key = waiting.key
returning i.list, i.gate
