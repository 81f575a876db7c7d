-- Whether a record with these values fulfils what the columns of a filing f hold; where `checks` is 0 they hold nothing.
(f.checks = 0 or (
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
