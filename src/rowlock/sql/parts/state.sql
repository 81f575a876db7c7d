-- The state of an item i of a list l, computed from its columns and the claims.
case
    when i.failed_at is not null then 'failed'
    when i.gate > l.gate then 'gated'
    when i.due > {now} then 'delayed'
    when i.due is null and exists (
        select 1 from rowlock_claims c
        where c.list = i.list and c.gate = i.gate and c.priority = i.priority
            and c.low < i.position and c.high >= i.position
    ) then 'claimed'
    else 'ready'
end
