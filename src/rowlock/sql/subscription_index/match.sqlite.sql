-- SQLite: `json_each` instead of arrays, and the number of a moment is its place in the commit order.
with probe (key, low, high) as (
    select value, 0, 0 from json_each(:keys) where key >= json_array_length(:lows)
    union all
    select json_extract(:keys, '$[' || key || ']'), value, json_extract(:highs, '$[' || key || ']') from json_each(:lows)
),
found as (
    select f.subscription, f.checks
    from ({parts/record_values}) as p cross join probe cross join rowlock_filings f
    where f.key = probe.key and f.sort between probe.low and probe.high
        and {parts/entry_visible}
        and {parts/entry_matches}
    limit :limit
)
select
    (select t.version from rowlock_topics t where t.id = :topic),
    (select count(*) from rowlock_shapes s where s.topic = :topic),
    json_group_array(found.subscription),
    json_group_array(
        json_array(
            found.subscription, json((select s.predicates from rowlock_subscriptions s where s.id = found.subscription))
        )
    ) filter (where found.checks & 1 = 1)
from found
