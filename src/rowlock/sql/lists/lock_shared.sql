-- Shares the list's row until commit: nobody can drop it, pass its gate or put it to sleep while items are being added.
select l.id, l.gate, l.sealed, (l.wake_at is null or l.wake_at > {now}) and not {wake_is_pending} as needs_wake, l.lanes, l.limits, l.once
from rowlock_lists l where l.name = :name {share}
