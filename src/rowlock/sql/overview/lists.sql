-- Lists within a range of names with what their tallies add up to, and what was added and done since a short while. What is
-- overdue or claimed at the open gate is counted among the items, as in tallies/counts_by_gate.
select l.id, l.name, l.state, l.gate, l.sealed, coalesce(t.done, 0) as done, coalesce(t.gated, 0) as gated,
    coalesce(t.line, 0) as line, coalesce(t.delayed, 0) as delayed, coalesce(t.failed, 0) as failed,
    coalesce(t.recently_added, 0) + coalesce(p.added, 0) as recently_added,
    coalesce(t.recently_settled, 0) + coalesce(p.settled, 0) as recently_settled,
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
) as l
left join (
    select t.list, cast(sum(t.done) as bigint) as done,
        cast(sum(case when t.gate > x.gate then t.items_change - t.failed_change else 0 end) as bigint) as gated,
        cast(sum(case when t.gate <= x.gate then t.items_change - t.failed_change - t.delayed_change else 0 end) as bigint)
            as line,
        cast(sum(case when t.gate <= x.gate then t.delayed_change else 0 end) as bigint) as delayed,
        cast(sum(t.failed_change) as bigint) as failed,
        cast(sum(case when not t.folded and t.at >= {now} - cast(:recent as bigint) then t.added else 0 end) as bigint)
            as recently_added,
        cast(sum(case when not t.folded and t.at >= {now} - cast(:recent as bigint) then t.done + t.moved else 0 end) as bigint)
            as recently_settled
    from rowlock_tallies t join rowlock_lists x on x.id = t.list group by t.list
) as t on t.list = l.id
left join (
    select r.list, cast(sum(r.added) as bigint) as added, cast(sum(r.done + r.moved) as bigint) as settled
    from rowlock_periods r where r.length = 60000 and r.at >= {now} - cast(:recent as bigint) group by r.list
) as p on p.list = l.id
order by l.name
