-- Subscriptions that came or went after a moment. Not only those up to the next record: one that came before it may
-- have gone after it, and is known by its last change.
select s.id, case when s.gone is null then 9223372036854775807 else m.seq end
from rowlock_moments m cross join lateral (
    select x.id, x.gone from rowlock_subscriptions x where x.topic = :topic and x.changed = m.id offset 0
) as s
where m.seq > :after
