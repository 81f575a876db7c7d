-- Whether an item i, with its state, matches a filter; an empty text, -1 and 0 match everything.
(:state in ('', i.state) and cast(:gate as integer) in (-1, i.gate) and i.attempts >= cast(:attempts as integer)
    and (not cast(:retryable as boolean) or i.due is not null or i.failed_at is not null)
    and (:pattern = '' or exists (
        select 1 from (
            select e.kind, e.message, e.shape from rowlock_errors e
            where e.list = i.list and e.key = i.key order by e.id desc limit 1
        ) as e
        where e.message like :pattern escape '!' or e.shape like :pattern escape '!' or e.kind = :kind
    ))
    and (not cast(:grouped as boolean) or exists (
        select 1 from (
            select e.kind, e.shape from rowlock_errors e
            where e.list = i.list and e.key = i.key order by e.id desc limit 1
        ) as e
        where e.kind = :group_kind and e.shape = :group_shape
    )))
