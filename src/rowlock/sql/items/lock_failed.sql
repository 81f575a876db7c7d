-- A page of the failed items, locked.
select key, gate, attempts, due is not null as delayed, true as failed
from rowlock_items where list = :list and failed_at is not null and key > :after
order by key limit :limit {lock}
