-- Items i of a lane at the given positions, none of which is outside the bounds. Only the bounds are for an index: a plan that
-- looked up each position would seem dear while the table is small, and another be kept that reads the whole list. Those
-- between the bounds are then looked up in a hash table; `is true` keeps the planner from making a join of it.
i.list = :list and i.gate = :gate and i.priority = :priority and i.due is null and i.failed_at is null
    and i.position > :low and i.position <= :high
    and (i.position in (select p.position from {positions})) is true
