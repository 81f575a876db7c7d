-- The last key of each of the equal parts, and how many keys there are up to it: one walk over the index.
with size as (select count(*) as number from rowlock_items where list = :list),
ends as (
    select distinct cast((whole.number - whole.number {modulo} :parts) / :parts as bigint) as place
    from (select size.number * part.value as number from size cross join ({ids}) as part) as whole
)
select line.key, line.place
from (
    select i.key, row_number() over (order by i.key) as place from rowlock_items i where i.list = :list
) as line
where line.place in (select ends.place from ends)
order by line.place
