-- Index entries of some subscriptions as integers, for a matcher in memory.
select s.id, {parts/subscription_lifetime}, {parts/entry_numbers}
from rowlock_subscriptions s
{parts/entries_of}
where s.id in ({ids})
