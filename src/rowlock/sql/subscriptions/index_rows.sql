-- Subscriptions with the rows they are filed in, as numbers, for a copy in memory; a page at a time.
select s.id, {parts/lifetime}, {parts/entry_numbers}
from (
    select x.id, x.born, x.gone, x.filed from rowlock_subscriptions x
    where x.topic = :topic and x.gone is null and x.id > :after order by x.id limit :limit
) as s
{parts/entries_of}
