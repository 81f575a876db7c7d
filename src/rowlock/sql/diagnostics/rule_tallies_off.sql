-- The sums of the tallies, less what a scan of the items finds, where the two differ.
select l.name, both_sides.gate, cast(sum(both_sides.items) as bigint), cast(sum(both_sides.delayed) as bigint),
    cast(sum(both_sides.failed) as bigint)
from rowlock_lists l join (
    select t.list, t.gate, t.items_change as items, t.delayed_change as delayed, t.failed_change as failed
    from ({parts/all_tallies}) as t
    union all
    select i.list, i.gate, -1, case when i.due is null then 0 else -1 end, case when i.failed_at is null then 0 else -1 end
    from rowlock_items i
) as both_sides on both_sides.list = l.id
group by l.name, both_sides.gate
having sum(both_sides.items) <> 0 or sum(both_sides.delayed) <> 0 or sum(both_sides.failed) <> 0
order by l.name, both_sides.gate
