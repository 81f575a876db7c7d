-- Lists within a range of names with what their tallies add up to, and what was added and done since a short while. What is
-- overdue or claimed at the open gate is counted among the items, as in tallies/counts_by_gate. Tallies and periods are found by
-- their list: a join of two sums would compare each list with all others where the planner expects few lists, and a range
-- of all three columns leaves it only the primary key of periods.
select l.id, l.name, l.state, l.gate, l.sealed, cast(coalesce(sum(t.done), 0) as bigint) as done,
    cast(coalesce(sum(case when t.gate > l.gate then t.items_change - t.failed_change else 0 end), 0) as bigint) as gated,
    cast(coalesce(sum(case when t.gate <= l.gate then t.items_change - t.failed_change - t.delayed_change else 0 end), 0) as bigint)
        as line,
    cast(coalesce(sum(case when t.gate <= l.gate then t.delayed_change else 0 end), 0) as bigint) as delayed,
    cast(coalesce(sum(t.failed_change), 0) as bigint) as failed,
    cast(coalesce(sum(case when not t.folded and t.at >= {now} - cast(:recent as bigint) then t.added else 0 end), 0) + (
        select coalesce(sum(r.added), 0) from rowlock_periods r
        where (r.list, r.length, r.at) >= (l.id, 60000, {now} - cast(:recent as bigint)) and (r.list, r.length, r.at) < (l.id, 60001, 0)
    ) as bigint) as recently_added,
    cast(coalesce(sum(case when not t.folded and t.at >= {now} - cast(:recent as bigint) then t.done + t.moved else 0 end), 0) + (
        select coalesce(sum(r.done + r.moved), 0) from rowlock_periods r
        where (r.list, r.length, r.at) >= (l.id, 60000, {now} - cast(:recent as bigint)) and (r.list, r.length, r.at) < (l.id, 60001, 0)
    ) as bigint) as recently_settled,
    (select count(*) from rowlock_items i where i.list = l.id and i.due <= {now} and i.gate <= l.gate) as overdue,
    (select cast(coalesce(sum((
        select count(*) from rowlock_items i
        where i.list = c.list and i.gate = c.gate and i.priority = c.priority and i.due is null and i.failed_at is null
            and i.position > c.low and i.position <= c.high
    )), 0) as bigint) from rowlock_claims c where c.list = l.id and c.gate = l.gate) as claimed,
    {now} as now
from (
    select id, name, state, gate, sealed from rowlock_lists
    where name >= :prefix and name < :beyond order by name limit :limit
) as l left join rowlock_tallies t on t.list = l.id
group by l.id, l.name, l.state, l.gate, l.sealed
order by l.name
