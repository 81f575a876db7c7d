-- Of the keys that are settled under a claim, those in its interval now: a key that was removed and added again has a
-- position behind it.
select i.position, i.key, i.attempts from rowlock_items i
where i.list = :list and i.key {among_keys} and i.gate = :gate and i.priority = :priority
    and i.due is null and i.failed_at is null and i.position > :low and i.position <= :high
order by i.key {lock}
