-- Index entries of new or reindexed subscriptions.
insert into rowlock_filings (
    key, sort, subscription, part, born, checks, c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, l0, h0, l1,
    h1, l2, h2, l3, h3, l4, h4, l5, h5
)
select
    given.key, given.sort, given.subscription, given.part, :moment, given.checks, given.c0, given.c1, given.c2,
    given.c3, given.c4, given.c5, given.c6, given.c7, given.c8, given.c9, given.c10, given.c11, given.l0,
    given.h0, given.l1, given.h1, given.l2, given.h2, given.l3, given.h3, given.l4, given.h4, given.l5, given.h5
from json_to_recordset(:rows::json) as given (
    key bigint, sort bigint, subscription bigint, part bigint, checks integer, c0 bigint, c1 bigint, c2 bigint,
    c3 bigint, c4 bigint, c5 bigint, c6 bigint, c7 bigint, c8 bigint, c9 bigint, c10 bigint, c11 bigint,
    l0 bigint, h0 bigint, l1 bigint, h1 bigint, l2 bigint, h2 bigint, l3 bigint, h3 bigint, l4 bigint,
    h4 bigint, l5 bigint, h5 bigint
)
