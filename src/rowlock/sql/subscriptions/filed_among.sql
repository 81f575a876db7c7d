-- The same for some of them.
select s.id, coalesce((select m.seq from rowlock_moments m where m.id = s.born), 0),
    case when s.gone is null then 9223372036854775807
        else coalesce((select m.seq from rowlock_moments m where m.id = s.gone), 0) end,
    f.key, f.sort, f.checks & 1,
    case when f.l0 is null and f.h0 is null then 0 else 1 end
    + case when f.l1 is null and f.h1 is null then 0 else 2 end
    + case when f.l2 is null and f.h2 is null then 0 else 4 end
    + case when f.l3 is null and f.h3 is null then 0 else 8 end
    + case when f.l4 is null and f.h4 is null then 0 else 16 end
    + case when f.l5 is null and f.h5 is null then 0 else 32 end,
    coalesce(f.c0, 0), coalesce(f.c1, 0), coalesce(f.c2, 0), coalesce(f.c3, 0), coalesce(f.c4, 0),
    coalesce(f.c5, 0), coalesce(f.c6, 0), coalesce(f.c7, 0), coalesce(f.c8, 0), coalesce(f.c9, 0),
    coalesce(f.c10, 0), coalesce(f.c11, 0),
    coalesce(f.l0, -9223372036854775807 - 1), coalesce(f.l1, -9223372036854775807 - 1),
    coalesce(f.l2, -9223372036854775807 - 1), coalesce(f.l3, -9223372036854775807 - 1),
    coalesce(f.l4, -9223372036854775807 - 1), coalesce(f.l5, -9223372036854775807 - 1),
    coalesce(f.h0, 9223372036854775807), coalesce(f.h1, 9223372036854775807),
    coalesce(f.h2, 9223372036854775807), coalesce(f.h3, 9223372036854775807),
    coalesce(f.h4, 9223372036854775807), coalesce(f.h5, 9223372036854775807)
from rowlock_subscriptions s
cross join lateral json_array_elements(cast(s.filed as json)) as place (at)
cross join lateral (
    select
        x.key, x.sort, x.checks, x.c0, x.c1, x.c2, x.c3, x.c4, x.c5, x.c6, x.c7, x.c8, x.c9, x.c10, x.c11,
        x.l0, x.h0, x.l1, x.h1, x.l2, x.h2, x.l3, x.h3, x.l4, x.h4, x.l5, x.h5
    from rowlock_filings x
    where x.key = cast(place.at ->> 0 as bigint) and x.sort = cast(place.at ->> 1 as bigint)
        and x.subscription = s.id and x.part = cast(place.at ->> 2 as bigint)
    offset 0
) as f
where s.id in ({ids})
