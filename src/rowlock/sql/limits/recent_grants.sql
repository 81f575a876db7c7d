-- How many items were handed out within the while, and how long until the first of these are past it. A slot counts as
-- long as any of it may lie within: so never too few.
select cast(coalesce(sum(h.items), 0) as bigint), min(h.slot) + :width + :period - {now}
from rowlock_handouts h where h.list = :list and h.slot > {now} - :period - :width
