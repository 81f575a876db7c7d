-- All subscriptions that a record fulfils, by their keys, up to a limit; each is found once. All in one row: the state of
-- the topic, which tells whether the keys were computed by what is true; the subscriptions; those among them whose
-- predicates say more than columns can, with these, as the lowest bit of `checks` tells, whose other bits are the groups of
-- columns that hold anything. Keys with a range of their order come first, those without stand at 0. Everything is asked for
-- by texts: an array's text is that of JSON but for the brackets around it, and what is put together as text comes sooner
-- than by functions of JSON. The record's values are handed down once, not to each look at a key.
with found as (
    select f.subscription, f.checks
    from ({parts/record_values}) as p cross join lateral (
        select f.subscription, f.checks
        from unnest(
            cast('{' || btrim(:keys, '[]') || '}' as bigint[]),
            cast('{' || btrim(:lows, '[]') || '}' as bigint[]),
            cast('{' || btrim(:highs, '[]') || '}' as bigint[])
        ) as probe (key, low, high) cross join rowlock_filings f
        where f.key = probe.key and f.sort between coalesce(probe.low, 0) and coalesce(probe.high, 0)
            and {parts/entry_visible}
            and {parts/entry_matches}
        limit :limit
    ) as f
)
select
    (select t.version from rowlock_topics t where t.id = :topic),
    (select count(*) from rowlock_shapes s where s.topic = :topic),
    '[' || coalesce(array_to_string(array_agg(found.subscription), ','), '') || ']',
    '[' || coalesce(string_agg(
        '[' || found.subscription || ','
        || coalesce((select s.predicates from rowlock_subscriptions s where s.id = found.subscription), 'null') || ']', ','
    ) filter (where found.checks & 1 = 1), '') || ']'
from found
