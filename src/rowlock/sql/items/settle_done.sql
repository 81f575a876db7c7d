-- By exact position, never by range: a row committed late inside the interval was never handed out.
delete from rowlock_items as i
where i.list = :list and i.gate = :gate and i.priority = :priority and i.due is null and i.failed_at is null
    and i.position {among_positions}
returning position, key, attempts
