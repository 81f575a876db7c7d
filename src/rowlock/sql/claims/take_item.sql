-- Claims a single item by its position, which is an interval too.
insert into rowlock_claims
    (token, session, list, gate, priority, low, high, taken, remaining, attempts, alone, taken_at, family)
select :token, s.id, :list, :gate, :priority, :position - 1, :position, 1, 1, cast(:attempts as integer), :alone, {now}, :family
from rowlock_sessions s where s.id = :session
