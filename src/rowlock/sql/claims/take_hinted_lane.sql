-- The next items of a list that was seen to have one lane and neither limits nor leases nor suspects ahead: little has to be
-- looked up. Where that has changed nothing is found, and a thorough claim follows.
with next as materialized (
    select {claimed_columns} from rowlock_items i
    where i.list = :list and i.gate = :gate and i.priority = :priority and i.due is null and i.failed_at is null
        and i.position > greatest(:floor, (
            select c.high from rowlock_claims c
            where c.list = :list and c.gate = :gate and c.priority = :priority and c.high > :floor
            order by c.high desc limit 1
        ))
        and {parts/hint_still_valid}
    order by i.position limit :limit
),
took as (
    insert into rowlock_claims (token, session, list, gate, priority, low, high, taken, remaining, attempts, taken_at)
    select :token, :session, :list, :gate, :priority, min(n.position) - 1, max(n.position), count(*), count(*),
        cast(:attempts as integer), {now}
    from next n having count(*) > 0
)
select {claimed_columns} from next i order by i.position
