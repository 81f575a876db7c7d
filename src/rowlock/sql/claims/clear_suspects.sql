-- An interval without items is no longer suspect.
delete from rowlock_suspects where not exists (
    select 1 from rowlock_items i
    where i.list = rowlock_suspects.list and i.gate = rowlock_suspects.gate
        and i.priority = rowlock_suspects.priority and i.due is null and i.failed_at is null
        and i.position > rowlock_suspects.low and i.position <= rowlock_suspects.high
)
