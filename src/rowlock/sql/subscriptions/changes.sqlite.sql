-- The order of moments is that of their numbers here.
select s.id, coalesce(s.gone, 9223372036854775807)
from rowlock_subscriptions s
where s.topic = :topic and s.changed > :after
