-- The single item of a claim, if it is still there. By its position: a row that was committed late was never claimed.
select position, key from rowlock_items i
where i.list = :list and i.gate = :gate and i.priority = :priority and i.due is null and i.failed_at is null
    and i.position = :high
