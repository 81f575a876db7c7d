-- Given up: kept for somebody to look at, out of every claim's way.
update rowlock_items as i
set attempts = i.attempts + 1, failed_at = {now}, version = i.version + 1
where i.list = :list and i.gate = :gate and i.priority = :priority and i.due is null and i.failed_at is null
    and i.position {among_positions}
