-- The first item of a family w.family that no claim covers.
select i.position from rowlock_items i
where i.list = :list and i.gate = :gate and i.priority = :priority and i.family = w.family
    and i.due is null and i.failed_at is null and i.position <= coalesce((
        select c.low from rowlock_claims c
        where c.list = :list and c.gate = :gate and c.priority = :priority and c.high >= i.position
        order by c.high limit 1
    ), i.position)
order by i.position limit 1
