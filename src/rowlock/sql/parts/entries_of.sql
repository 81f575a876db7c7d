-- The entries of a subscription s. Lateral with an offset, so that each is looked up by its index.
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
