-- SQLite: two statements, because it cannot write inside a with. Rows as one value: see `PACKED`.
insert into rowlock_claims (token, session, list, gate, priority, low, high, taken, remaining, attempts, taken_at)
with next as (
    select i.position from rowlock_items i
    where i.list = :list and i.gate = :gate and i.priority = :priority and i.due is null and i.failed_at is null
        and i.position > max(:floor, coalesce((
            select c.high from rowlock_claims c
            where c.list = :list and c.gate = :gate and c.priority = :priority and c.high > :floor
            order by c.high desc limit 1
        ), 0))
        and {parts/hint_still_valid}
    order by i.position limit :limit
)
select :token, :session, :list, :gate, :priority, min(n.position) - 1, max(n.position), count(*), count(*), :attempts, {now}
from next n having count(*) > 0;
select json_group_array(json_array({claimed_columns}))
from (
    select {claimed_columns}
    from rowlock_claims c join rowlock_items i on i.list = :list and i.gate = :gate and i.priority = :priority
    where c.token = :token and i.due is null and i.failed_at is null and i.position > c.low and i.position <= c.high
    order by i.position
) as i
