-- Only an item of the version that was read and that no claim covers; a row that is gone is not inserted again.
update rowlock_items as i
set {payload_changes}, priority = :priority,
    due = case
        when cast(:keeps_due as boolean) then i.due
        else coalesce(cast(:at as bigint), {now} + cast(:delay as bigint))
    end,
    version = i.version + 1
where i.list = :list and i.key = :key and i.version = :version
    and (i.due is not null or i.failed_at is not null or not exists (
        select 1 from rowlock_claims c
        where c.list = i.list and c.gate = i.gate and c.priority = i.priority
            and c.low < i.position and c.high >= i.position
    ))
