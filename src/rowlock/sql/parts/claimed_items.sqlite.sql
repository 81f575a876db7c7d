-- The items of a claim, as one value: see `PACKED`. `alone` is null where no suspects are ahead.
select json_group_array(json_array(i.list_id, i.gate, i.priority, i.low, i.alone, {claimed_columns}))
from (
    select c.list as list_id, c.gate, c.priority, c.low, case when exists (
        select 1 from rowlock_claims h join rowlock_suspects x on x.list = h.list and x.gate = h.gate and x.priority = h.priority
        where h.token = :token and x.high > h.low
    ) then c.alone end as alone, {claimed_columns}
    from rowlock_claims c join rowlock_items i on i.list = c.list and i.gate = c.gate and i.priority = c.priority
    where c.token = :token and i.due is null and i.failed_at is null and i.position > c.low and i.position <= c.high
    order by i.position
) as i
