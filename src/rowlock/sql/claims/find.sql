-- A claim of a session by its token.
select l.name, c.list, c.gate, c.priority, c.low, c.high
from rowlock_claims c join rowlock_lists l on l.id = c.list
where c.token = :token and c.session = :session
