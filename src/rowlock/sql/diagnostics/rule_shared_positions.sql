-- A position is never used twice: settlements name items by it.
select i.position, count(*) from rowlock_items i group by i.position having count(*) > 1 order by i.position
