-- The same for some of them.
select s.id, {parts/life}, {parts/numbers}
from rowlock_subscriptions s
{parts/filings_of}
where s.id in ({ids})
