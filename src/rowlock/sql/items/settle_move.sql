-- On to another gate with a clean count of attempts, or back in line at this one with the same; what the handler left
-- out stays as it is.
update rowlock_items as i
set gate = r.to_gate, data = case when r.keeps_data then i.data else r.data end,
    attempts = case when r.to_gate = i.gate then i.attempts else 0 end,
    due = {now} + nullif(r.delay, 0), position = nextval('rowlock_positions'), version = i.version + 1
from json_to_recordset(cast(:rows as json)) as r (position bigint, to_gate integer, keeps_data boolean, data text, delay bigint)
where i.list = :list and i.gate = :gate and i.priority = :priority and i.due is null and i.failed_at is null
    and i.position = r.position
