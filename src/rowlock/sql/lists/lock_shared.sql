-- Shares the list's row until commit: nobody can drop it, pass its gate or put it to sleep while items are being added.
select id, gate, sealed, wake_at is null or wake_at > {now} as asleep, lanes, limits
from rowlock_lists where name = :name {share}
