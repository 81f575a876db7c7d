-- All subscriptions that a record fulfils, by their keys, up to a limit; each is found once. All in one row: the state of
-- the topic, which tells whether the keys were computed by what is true; the subscriptions; those among them whose
-- predicates say more than columns can, with these, as the lowest bit of `checks` tells, whose other bits are the groups of
-- columns that hold anything. Everything is asked for by texts: numbers of different size would be different statements to
-- the driver, each to be planned anew.
with found as (
    select f.subscription, f.checks
    from (
        select probe.key, probe.low, probe.high, record.*
        from ({parts/record}) as record
        cross join (
            select given.key, 0 as low, 0 as high
            from unnest(cast(translate(:keys, '[]', '{}') as bigint[])) as given (key)
            union all
            select cast(given.value ->> 0 as bigint), cast(given.value ->> 1 as bigint), cast(given.value ->> 2 as bigint)
            from json_array_elements(cast(:ranged as json)) as given (value)
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
    translate(cast(coalesce(array_agg(found.subscription), '{}') as text), '{}', '[]'),
    coalesce(cast(json_agg(
        json_build_array(
            found.subscription, (select s.predicates from rowlock_subscriptions s where s.id = found.subscription)
        )
    ) filter (where found.checks & 1 = 1) as text), '[]')
from found
