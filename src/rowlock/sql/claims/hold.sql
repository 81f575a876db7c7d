-- The claim, locked: while it is held nobody can end it or settle under it.
select c.list, c.gate, c.priority, c.low, c.high, c.remaining, c.attempts, l.name, l.gate, l.settings
from rowlock_claims c join rowlock_lists l on l.id = c.list
where c.token = :token and c.session = :session {lock_claim}
