-- How many items were claimed within the period, and how long until the first of them leave it. A slot counts as long as any of
-- it may lie within the period: so never too few.
select cast(coalesce(sum(h.items), 0) as bigint), min(h.slot) + :width + :period - {now}
from rowlock_handouts h where h.list = :list and h.slot > {now} - :period - :width
