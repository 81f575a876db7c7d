-- How many items of a list are in anybody's hands, whether any of them were handed out without a look at families, where
-- those stand that may be handed out, and which family was served last.
select (select cast(coalesce(sum(c.remaining), 0) as bigint) from rowlock_claims c where c.list = l.id),
    exists (select 1 from rowlock_claims c where c.list = l.id and c.family is null), l.gate, l.lanes, l.served
from rowlock_lists l where l.id = :list and l.state = 'open'
