-- Of the positions that were handed out, those that still stand there: others were abandoned or changed meanwhile.
select i.position, i.key, i.attempts from rowlock_items i
where i.list = :list and i.gate = :gate and i.priority = :priority and i.due is null and i.failed_at is null
    and i.position {among_positions}
order by i.key {lock}
