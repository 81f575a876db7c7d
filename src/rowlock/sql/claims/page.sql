-- Claims, the oldest first: who holds which part of which list. The bounds of the lane tell where in the list that is.
select l.name as list, c.session, s.holder, c.gate, c.priority, c.low, c.high, c.taken, c.remaining, c.taken_at, (
        select min(i.position) from rowlock_items i
        where i.list = c.list and i.gate = c.gate and i.priority = c.priority and i.due is null and i.failed_at is null
    ) as first, (
        select max(i.position) from rowlock_items i
        where i.list = c.list and i.gate = c.gate and i.priority = c.priority and i.due is null and i.failed_at is null
    ) as last
from rowlock_claims c join rowlock_lists l on l.id = c.list join rowlock_sessions s on s.id = c.session
where :session in ('', c.session) and :list in ('', l.name)
order by c.taken_at, c.token limit :limit
