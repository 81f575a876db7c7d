-- Another try: after its delay, or at the back of its lane at once; in an exclusive list it keeps its place then.
update rowlock_items as i
set attempts = i.attempts + r.counted, version = i.version + 1, due = {now} + nullif(r.delay, 0),
    position = case when r.delay = 0 and not r.stays then nextval('rowlock_positions') else i.position end
from json_to_recordset(cast(:rows as json)) as r (position bigint, delay bigint, counted integer, stays boolean)
where i.list = :list and i.gate = :gate and i.priority = :priority and i.due is null and i.failed_at is null
    and i.position = r.position
