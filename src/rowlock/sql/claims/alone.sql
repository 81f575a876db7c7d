-- The single item of a claim, if it is still there.
select position, key, attempts from rowlock_items i
where i.list = :list and i.gate = :gate and i.priority = :priority and i.due is null and i.failed_at is null
    and i.position > :low and i.position <= :high
order by i.position limit 2
