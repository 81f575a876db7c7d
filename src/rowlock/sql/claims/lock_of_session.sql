-- The claims of a session that expires, locked.
select c.token, c.list, c.gate, c.priority, c.low, c.high, c.taken, c.attempts, c.remaining
from rowlock_claims c where c.session = :session order by c.token {lock}
