-- Whether a record p fulfils the columns of an entry f; a group of columns without its bit in `checks` is empty.
(f.checks = 0 or (
    (f.checks & 2 = 0 or (
        (f.c0 is null or f.c0 = p.c0)
        and (f.c1 is null or f.c1 = p.c1)
        and (f.c2 is null or f.c2 = p.c2)
        and (f.c3 is null or f.c3 = p.c3)
    ))
    and (f.checks & 4 = 0 or (
        (f.c4 is null or f.c4 = p.c4)
        and (f.c5 is null or f.c5 = p.c5)
        and (f.c6 is null or f.c6 = p.c6)
        and (f.c7 is null or f.c7 = p.c7)
    ))
    and (f.checks & 8 = 0 or (
        (f.c8 is null or f.c8 = p.c8)
        and (f.c9 is null or f.c9 = p.c9)
        and (f.c10 is null or f.c10 = p.c10)
        and (f.c11 is null or f.c11 = p.c11)
    ))
    and (f.checks & 16 = 0 or (
        (f.l0 is null or f.l0 <= p.n0) and (f.h0 is null or f.h0 >= p.n0)
        and (f.l1 is null or f.l1 <= p.n1) and (f.h1 is null or f.h1 >= p.n1)
        and (f.l2 is null or f.l2 <= p.n2) and (f.h2 is null or f.h2 >= p.n2)
    ))
    and (f.checks & 32 = 0 or (
        (f.l3 is null or f.l3 <= p.n3) and (f.h3 is null or f.h3 >= p.n3)
        and (f.l4 is null or f.l4 <= p.n4) and (f.h4 is null or f.h4 >= p.n4)
        and (f.l5 is null or f.l5 <= p.n5) and (f.h5 is null or f.h5 >= p.n5)
    ))
))
