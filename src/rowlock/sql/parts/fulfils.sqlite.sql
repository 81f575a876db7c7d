-- The same; values need not be told what they are.
(f.checks = 0 or (
    (f.checks & 2 = 0 or (
        (f.c0 is null or f.c0 = :c0)
        and (f.c1 is null or f.c1 = :c1)
        and (f.c2 is null or f.c2 = :c2)
        and (f.c3 is null or f.c3 = :c3)
    ))
    and (f.checks & 4 = 0 or (
        (f.c4 is null or f.c4 = :c4)
        and (f.c5 is null or f.c5 = :c5)
        and (f.c6 is null or f.c6 = :c6)
        and (f.c7 is null or f.c7 = :c7)
    ))
    and (f.checks & 8 = 0 or (
        (f.c8 is null or f.c8 = :c8)
        and (f.c9 is null or f.c9 = :c9)
        and (f.c10 is null or f.c10 = :c10)
        and (f.c11 is null or f.c11 = :c11)
    ))
    and (f.checks & 16 = 0 or (
        (f.l0 is null or f.l0 <= :n0) and (f.h0 is null or f.h0 >= :n0)
        and (f.l1 is null or f.l1 <= :n1) and (f.h1 is null or f.h1 >= :n1)
        and (f.l2 is null or f.l2 <= :n2) and (f.h2 is null or f.h2 >= :n2)
    ))
    and (f.checks & 32 = 0 or (
        (f.l3 is null or f.l3 <= :n3) and (f.h3 is null or f.h3 >= :n3)
        and (f.l4 is null or f.l4 <= :n4) and (f.h4 is null or f.h4 >= :n4)
        and (f.l5 is null or f.l5 <= :n5) and (f.h5 is null or f.h5 >= :n5)
    ))
))
