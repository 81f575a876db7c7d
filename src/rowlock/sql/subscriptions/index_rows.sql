-- Index entries of a page of subscriptions as integers, for a matcher in memory.
select s.id, {parts/subscription_lifetime}, {parts/entry_numbers}
from (
    select x.id, x.born, x.gone, x.filed from rowlock_subscriptions x
    where x.topic = :topic and x.gone is null and x.id > :after order by x.id limit :limit
) as s
{parts/entries_of}
