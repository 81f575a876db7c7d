-- All subscriptions that a record fulfils, by their keys, up to a limit; each is found once. All in one row: the state of
-- the topic, which tells whether the keys were computed by what is true; the subscriptions; those among them whose
-- predicates say more than columns can, with these, as the lowest bit of `checks` tells, whose other bits are the groups of
-- columns that hold anything. Later moments are those that committed after the record's own: what was born then is not
-- found, what went then still is.
with asked as (
    select coalesce((select m.seq from rowlock_moments m where m.id = :moment), 9223372036854775807) as seq
),
later as materialized (
    select asked.seq, coalesce(
        (select min(m.id) from rowlock_moments m where m.seq > asked.seq), 9223372036854775807
    ) as first
    from asked
),
found as (
    select f.subscription, f.checks
    from (
        select given.key, 0 as low, 0 as high
        from unnest(cast(translate(:keys, '[]', '{}') as bigint[])) as given (key)
        union all
        select cast(given.value ->> 0 as bigint), cast(given.value ->> 1 as bigint), cast(given.value ->> 2 as bigint)
        from json_array_elements(cast(:ranged as json)) as given (value)
    ) as p cross join lateral (
        select f.subscription, f.checks from rowlock_filings f
        where f.key = p.key and f.sort between p.low and p.high
            and (
                f.born < (select later.first from later)
                or not exists (select 1 from rowlock_moments m where m.id = f.born and m.seq > (select later.seq from later))
            )
            and (
                f.gone is null
                or exists (select 1 from rowlock_moments m where m.id = f.gone and m.seq > (select later.seq from later))
            )
            and (f.checks = 0 or (
                (f.checks & 2 = 0 or (
                    (f.c0 is null or f.c0 = cast(:c0 as bigint))
                    and (f.c1 is null or f.c1 = cast(:c1 as bigint))
                    and (f.c2 is null or f.c2 = cast(:c2 as bigint))
                    and (f.c3 is null or f.c3 = cast(:c3 as bigint))
                ))
                and (f.checks & 4 = 0 or (
                    (f.c4 is null or f.c4 = cast(:c4 as bigint))
                    and (f.c5 is null or f.c5 = cast(:c5 as bigint))
                    and (f.c6 is null or f.c6 = cast(:c6 as bigint))
                    and (f.c7 is null or f.c7 = cast(:c7 as bigint))
                ))
                and (f.checks & 8 = 0 or (
                    (f.c8 is null or f.c8 = cast(:c8 as bigint))
                    and (f.c9 is null or f.c9 = cast(:c9 as bigint))
                    and (f.c10 is null or f.c10 = cast(:c10 as bigint))
                    and (f.c11 is null or f.c11 = cast(:c11 as bigint))
                ))
                and (f.checks & 16 = 0 or (
                    (f.l0 is null or f.l0 <= cast(:n0 as bigint)) and (f.h0 is null or f.h0 >= cast(:n0 as bigint))
                    and (f.l1 is null or f.l1 <= cast(:n1 as bigint)) and (f.h1 is null or f.h1 >= cast(:n1 as bigint))
                    and (f.l2 is null or f.l2 <= cast(:n2 as bigint)) and (f.h2 is null or f.h2 >= cast(:n2 as bigint))
                ))
                and (f.checks & 32 = 0 or (
                    (f.l3 is null or f.l3 <= cast(:n3 as bigint)) and (f.h3 is null or f.h3 >= cast(:n3 as bigint))
                    and (f.l4 is null or f.l4 <= cast(:n4 as bigint)) and (f.h4 is null or f.h4 >= cast(:n4 as bigint))
                    and (f.l5 is null or f.l5 <= cast(:n5 as bigint)) and (f.h5 is null or f.h5 >= cast(:n5 as bigint))
                ))
            ))
    ) as f
    limit :limit
)
select
    (select t.version from rowlock_topics t where t.id = :topic),
    (select count(*) from rowlock_shapes s where s.topic = :topic),
    '[' || coalesce(string_agg(cast(found.subscription as text), ','), '') || ']',
    coalesce(cast(json_agg(
        json_build_array(
            found.subscription, (select s.predicates from rowlock_subscriptions s where s.id = found.subscription)
        )
    ) filter (where found.checks & 1 = 1) as text), '[]')
from found
