-- SQLite: there is one writer at a time, so the number of a moment is its place in the commit order.
select s.id, coalesce(s.gone, 9223372036854775807)
from rowlock_subscriptions s
where s.topic = :topic and s.changed > :after
