-- The items in a claim's interval now: not all of them need have been handed out, rows may commit late.
select {claimed_columns} from rowlock_items i
where i.list = :list and i.gate = :gate and i.priority = :priority and i.due is null and i.failed_at is null
    and i.position > :low and i.position <= :high
order by i.position
