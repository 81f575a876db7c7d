-- Items i of a lane that the given rows speak of. No plan reads beyond the bounds, and none of the rows stands outside them.
i.list = :list and i.gate = :gate and i.priority = :priority and i.due is null and i.failed_at is null
    and i.position > :low and i.position <= :high and (select g.rows from given g) -> cast(i.position as text) is not null
