-- Topics with the last subscription of each, what was known of their terms, and how far they are filed by it.
select t.id, t.name, t.fields, t.keep_for, t.version, t.statistics, t.refiled_upto,
    coalesce((select max(s.id) from rowlock_subscriptions s where s.topic = t.id and s.gone is null), 0)
from rowlock_topics t where t.name > :after order by t.name limit :limit
