-- On to another gate, or back in line at this one; what the handler left out stays as it is.
update rowlock_items as i
set gate = r.to_gate, data = case when r.keeps_data then i.data else r.data end, attempts = 0,
    due = {now} + nullif(r.delay, 0), position = nextval('rowlock_positions'), version = i.version + 1
from json_to_recordset(cast(:rows as json)) as r (position bigint, to_gate integer, keeps_data boolean, data text, delay bigint)
where i.list = :list and i.gate = :gate and i.priority = :priority and i.due is null and i.failed_at is null
    and i.position = r.position
