-- The values of a record p by column, and the lowest moment that committed after it; 0 if many did, then each entry is checked
-- by its place. `offset 0` keeps the planner from computing this again for every comparison.
select
    given.value[1] as c0, given.value[2] as c1, given.value[3] as c2, given.value[4] as c3,
    given.value[5] as c4, given.value[6] as c5, given.value[7] as c6, given.value[8] as c7,
    given.value[9] as c8, given.value[10] as c9, given.value[11] as c10, given.value[12] as c11,
    given.value[13] as n0, given.value[14] as n1, given.value[15] as n2,
    given.value[16] as n3, given.value[17] as n4, given.value[18] as n5,
    (
        select case when count(*) < 100 then coalesce(min(few.id), 9223372036854775807) else 0 end
        from (select m.id from rowlock_moments m where m.seq > :seq order by m.seq limit 100) as few
    ) as first_later
from (select cast('{' || btrim(:values, '[]') || '}' as bigint[]) as value offset 0) as given
offset 0
