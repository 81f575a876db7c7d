-- Topics with their last subscription, their statistics, and how far they have been reindexed by these.
select t.id, t.name, t.fields, t.keep_for, t.version, t.statistics, t.refiled_upto as reindexed_upto,
    coalesce((select max(s.id) from rowlock_subscriptions s where s.topic = t.id and s.gone is null), 0) as last
from rowlock_topics t order by t.name limit :limit
