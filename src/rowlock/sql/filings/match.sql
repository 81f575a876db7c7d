-- All subscriptions that a record fulfils, by their keys, up to a limit; each is found once. All in one row: the state of
-- the topic, which tells whether the keys were computed by what is true; the subscriptions; those among them whose
-- predicates say more than columns can, with these, as the lowest bit of `checks` tells, whose other bits are the groups of
-- columns that hold anything. Keys with a range of their order come first. Everything is asked for by texts: an array's text
-- is that of JSON but for its brackets, and what is put together as text comes sooner than by functions of JSON.
with found as (
    select f.subscription, f.checks
    from (
        select probe.key, probe.low, probe.high, record.*
        from ({parts/record}) as record
        cross join (
            select given.key, coalesce(given.low, 0) as low, coalesce(given.high, 0) as high
            from unnest(
                cast(replace(replace(:keys, '[', '{'), ']', '}') as bigint[]),
                (cast(replace(replace(:ranged, '[', '{'), ']', '}') as bigint[]))[:][2:2],
                (cast(replace(replace(:ranged, '[', '{'), ']', '}') as bigint[]))[:][3:3]
            ) as given (key, low, high)
        ) as probe
        offset 0
    ) as p cross join lateral (
        select f.subscription, f.checks from rowlock_filings f
        where f.key = p.key and f.sort between p.low and p.high
            and {parts/seen}
            and {parts/fulfils}
    ) as f
    limit :limit
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
