-- The first gate after this one where anything stands.
select min(later.gate) from (
    select min(i.gate) as gate from rowlock_items i
    where i.list = :list and i.gate > :gate and i.due is null and i.failed_at is null
    union all
    select min(i.gate) from rowlock_items i where i.list = :list and i.gate > :gate and i.due is not null
    union all
    select min(i.gate) from rowlock_items i where i.list = :list and i.gate > :gate and i.failed_at is not null
) as later
