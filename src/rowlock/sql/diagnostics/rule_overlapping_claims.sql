-- Two claims on one lane share a position: the same items would be handed out twice.
select l.name, a.gate, a.priority, a.token, b.token
from rowlock_claims a
    join rowlock_claims b on b.list = a.list and b.gate = a.gate and b.priority = a.priority and a.token < b.token
        and a.low < b.high and b.low < a.high
    join rowlock_lists l on l.id = a.list
order by l.name, a.gate, a.priority, a.token
