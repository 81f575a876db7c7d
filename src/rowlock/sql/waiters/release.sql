-- What they waited for has come: back in line, at its end. Those that wait no more (done, abandoned, retried by hand) stay.
with waiting as (
    select i.position, i.list from rowlock_waiters w join rowlock_items i on i.list = w.list and i.key = w.key
    where w.awaited = :awaited and i.due >= :waiting
    order by i.list, i.key for no key update of i
)
update rowlock_items as i set due = null, position = nextval('rowlock_positions'), version = i.version + 1
from waiting where i.list = waiting.list and i.position = waiting.position
returning i.list, i.gate
