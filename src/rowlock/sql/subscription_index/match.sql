-- All subscriptions that a record fulfils, by its keys, up to a limit, in one row. The first two columns are the version of the
-- plan, by which the caller knows whether the keys were computed from the present signatures. Then the subscriptions, and those
-- of them that must be rechecked, with their predicates: bit 1 of `checks`. The other bits are the groups of columns in use.
-- Keys with bounds of their order come first; entries of other keys have sort 0. Parameters are texts: an array differs from
-- JSON only by its brackets, and text is faster to build than JSON. The record's values are computed once, not for each key.
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
