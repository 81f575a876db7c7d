-- One item, locked, and whether it is claimed; the list is locked already, so that no claim can begin.
select i.gate, i.priority, i.version, i.due is not null as delayed, i.failed_at is not null as failed,
    i.due is null and i.failed_at is null and exists (
        select 1 from rowlock_claims c
        where c.list = i.list and c.gate = i.gate and c.priority = i.priority
            and c.low < i.position and c.high >= i.position
    ) as claimed
from rowlock_items i where i.list = :list and i.key = :key {lock}
