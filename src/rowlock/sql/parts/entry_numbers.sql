-- An entry f as integers, with defaults for absent hashes and bounds; bits say which ranges it has.
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
