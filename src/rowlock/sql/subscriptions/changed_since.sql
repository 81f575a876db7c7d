-- Subscriptions that were added or removed after a place in the commit order. Without an upper limit: a subscription is known
-- by its last change, and may have been added before the next record and removed after it.
select s.id, case when s.gone is null then 9223372036854775807 else m.seq end
from rowlock_moments m cross join lateral (
    select x.id, x.gone from rowlock_subscriptions x where x.topic = :topic and x.changed = m.id offset 0
) as s
where m.seq > :after
