-- The item at a position as claims/take gives one: with its interval, and whether workers died while they held it.
select i.list as list_id, i.gate, i.priority, i.position - 1 as low, exists (
        select 1 from rowlock_suspects x
        where x.list = i.list and x.gate = i.gate and x.priority = i.priority and x.low < i.position and x.high >= i.position
            and x.deaths > 1
    ) as alone, {claimed_columns}
from rowlock_items i
where i.list = :list and i.gate = :gate and i.priority = :priority and i.position = :position
    and i.due is null and i.failed_at is null
