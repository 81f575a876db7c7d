-- The item at a position, and whether workers died while they held it.
select i.key, i.attempts, i.version, i.data, i.trace, exists (
        select 1 from rowlock_suspects x
        where x.list = i.list and x.gate = i.gate and x.priority = i.priority and x.low < i.position and x.high >= i.position
            and x.deaths > 1
    )
from rowlock_items i
where i.list = :list and i.gate = :gate and i.priority = :priority and i.position = :position
    and i.due is null and i.failed_at is null
