-- A claim by its name, as its session knows it.
select l.name, c.list, c.gate, c.priority, c.low, c.high
from rowlock_claims c join rowlock_lists l on l.id = c.list
where c.token = :token and c.session = :session
