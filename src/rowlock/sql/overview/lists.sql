-- Lists within a range of names with what their tallies add up to, and what was added and done since a short while. What is
-- overdue or claimed at the open gate is counted among the items, as in tallies/counts_by_gate. Sums, tallies and periods are found
-- by their list: a join of two sums would compare each list with all others where the planner expects few lists, and a range
-- of all three columns leaves it only the primary key of periods.
with chosen as (
    select id, name, state, gate as open, sealed from rowlock_lists
    where name >= :prefix and name < :beyond order by name limit :limit
)
select l.id, l.name, l.state, l.open as gate, l.sealed, cast(coalesce(sum(l.done), 0) as bigint) as done,
    cast(coalesce(sum(case when l.gate > l.open then l.items_change - l.failed_change else 0 end), 0) as bigint) as gated,
    cast(coalesce(sum(case when l.gate <= l.open then l.items_change - l.failed_change - l.delayed_change else 0 end), 0) as bigint)
        as line,
    cast(coalesce(sum(case when l.gate <= l.open then l.delayed_change else 0 end), 0) as bigint) as delayed,
    cast(coalesce(sum(l.failed_change), 0) as bigint) as failed,
    cast(coalesce(sum(case when l.at >= {now} - cast(:recent as bigint) then l.added else 0 end), 0) + (
        select coalesce(sum(r.added), 0) from rowlock_periods r
        where (r.list, r.length, r.at) >= (l.id, 60000, {now} - cast(:recent as bigint)) and (r.list, r.length, r.at) < (l.id, 60001, 0)
    ) as bigint) as recently_added,
    cast(coalesce(sum(case when l.at >= {now} - cast(:recent as bigint) then l.done + l.moved else 0 end), 0) + (
        select coalesce(sum(r.done + r.moved), 0) from rowlock_periods r
        where (r.list, r.length, r.at) >= (l.id, 60000, {now} - cast(:recent as bigint)) and (r.list, r.length, r.at) < (l.id, 60001, 0)
    ) as bigint) as recently_settled,
    (select count(*) from rowlock_items i where i.list = l.id and i.due <= {now} and i.gate <= l.open) as overdue,
    (select cast(coalesce(sum((
        select count(*) from rowlock_items i
        where i.list = c.list and i.gate = c.gate and i.priority = c.priority and i.due is null and i.failed_at is null
            and i.position > c.low and i.position <= c.high
    )), 0) as bigint) from rowlock_claims c where c.list = l.id and c.gate = l.open) as claimed,
    {now} as now
from (
    select c.id, c.name, c.state, c.open, c.sealed, s.gate, cast(null as bigint) as at, s.added, s.done, s.moved,
        s.items_change, s.delayed_change, s.failed_change
    from chosen c left join rowlock_sums s on s.list = c.id
    union all
    select c.id, c.name, c.state, c.open, c.sealed, t.gate, t.at, coalesce(t.added, 0), coalesce(t.done, 0),
        coalesce(t.moved, 0), coalesce(t.items_change, 0), coalesce(t.delayed_change, 0), coalesce(t.failed_change, 0)
    from chosen c join rowlock_tallies t on t.list = c.id
) as l
group by l.id, l.name, l.state, l.open, l.sealed
order by l.name
