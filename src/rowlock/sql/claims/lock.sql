-- Locks a claim: while it is locked nobody can end it or settle under it. Also whether something waits for the list's gate to be
-- cleared.
select c.list, c.gate, c.priority, c.low, c.high, c.remaining, c.attempts, l.name, l.gate as list_gate,
    {parts/gate_awaited} as awaited,
    l.settings
from rowlock_claims c join rowlock_lists l on l.id = c.list
where c.token = :token and c.session = :session {lock_claim}
