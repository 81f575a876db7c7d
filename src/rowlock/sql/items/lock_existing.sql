-- Those of the keys that are on the list, locked in the order of their keys, so that two transactions never deadlock.
select key, gate, attempts, due is not null as delayed, failed_at is not null as failed
from rowlock_items where list = :list and key {among_keys}
order by key {lock}
