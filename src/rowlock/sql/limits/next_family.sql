-- The first family from a key on that has a free item and is below its limit. Families are walked by their index, one probe
-- each, so that the number of items in a busy family does not matter; by values and not by `exists`, because a planner that
-- thinks little of the table would then read all of it first.
with recursive walk (family) as (
    select (
        select i.family from rowlock_items i
        where i.list = :list and i.gate = :gate and i.priority = :priority and i.family >= :start
            and i.due is null and i.failed_at is null
        order by i.family limit 1
    )
    union all
    select (
        select i.family from rowlock_items i
        where i.list = :list and i.gate = :gate and i.priority = :priority and i.family > w.family
            and i.due is null and i.failed_at is null
        order by i.family limit 1
    )
    from walk w
    where w.family is not null and (
        (select count(*) from rowlock_claims c where c.list = :list and c.family = w.family and c.remaining > 0) >= :most
        or (
            {parts/free_in_family}
        ) is null
    )
)
select found.family, found.position from (
    select w.family, (
        {parts/free_in_family}
    ) as position
    from walk w
    where w.family is not null
        and (select count(*) from rowlock_claims c where c.list = :list and c.family = w.family and c.remaining > 0) < :most
) as found
where found.position is not null limit 1
