-- The rest of a claim once `start` says where it begins: items up to the next claim (`until`), one by one where they are
-- suspects, and the row of the claim. `alone` is null where no suspects are ahead.
bound as (
    select s.list, s.gate, s.priority, s.low, suspect.alone,
        least(s.until, coalesce(case when suspect.around then s.position else suspect.later end, 9223372036854775807)) as high
    from start s cross join lateral (
        select bool_or(x.low < s.position) as around, bool_or(x.low < s.position and x.deaths > 1) as alone,
            min(x.low) filter (where x.low >= s.position) as later
        from rowlock_suspects x where x.list = s.list and x.gate = s.gate and x.priority = s.priority and x.high >= s.position
    ) as suspect
),
next as materialized (
    select b.list as list_id, b.gate, b.priority, b.low, b.alone, {claimed_columns}
    from bound b cross join lateral (
        select {claimed_columns} from rowlock_items i
        where i.list = b.list and i.gate = b.gate and i.priority = b.priority and i.due is null and i.failed_at is null
            and i.position > b.low and i.position <= b.high
        order by i.position limit :limit
    ) as i
),
took as (
    insert into rowlock_claims
        (token, session, list, gate, priority, low, high, taken, remaining, attempts, alone, taken_at)
    select :token, :session, min(n.list_id), min(n.gate), min(n.priority), min(n.low), max(n.position), count(*), count(*),
        cast(:attempts as integer), coalesce(bool_or(n.alone), false), {now}
    from next n having count(*) > 0
)
select i.list_id, i.gate, i.priority, i.low, i.alone, {claimed_columns} from next i order by i.position
