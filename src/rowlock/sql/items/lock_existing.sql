-- The named items that are there, locked, in the order of their keys so that two who want the same never deadlock.
select key, gate, attempts, due is not null as delayed, failed_at is not null as failed
from rowlock_items where list = :list and key {among_keys}
order by key {lock}
