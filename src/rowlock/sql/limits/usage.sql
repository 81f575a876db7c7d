-- How many items of a list are claimed, whether any of them were claimed before families were limited, where items that may be
-- claimed stand, and which family was claimed from last.
select (select cast(coalesce(sum(c.remaining), 0) as bigint) from rowlock_claims c where c.list = l.id),
    exists (select 1 from rowlock_claims c where c.list = l.id and c.family is null), l.gate, l.lanes, l.served
from rowlock_lists l where l.id = :list and l.state = 'open'
