-- SQLite: several statements, because it cannot write inside a with. The wake first: then `changes()` tells what was added. Where
-- nothing was added, `add` finds out why.
insert into rowlock_wakes (list)
select l.id from rowlock_lists l where l.name = :name and (l.wake_at is null or l.wake_at > {now}) and not {wake_is_pending};
insert into rowlock_items (list, key, gate, priority, due, family, {payload_columns})
select l.id, :key, coalesce(:gate, l.gate), :priority, {now} + nullif(:delay, 0),
    case when l.limits is null then null
        when instr(:key, json_extract(l.limits, '$.by.separator')) > 0
            then substr(:key, 1, instr(:key, json_extract(l.limits, '$.by.separator')) - 1)
        when json_extract(l.limits, '$.by.separator') is not null then :key end,
    {payload_parameters}
from rowlock_lists l
where l.name = :name and not l.sealed and not l.once and (l.lanes >> :priority) & 1 = 1 and coalesce(:gate, l.gate) >= l.gate
on conflict (list, key) do nothing;
insert into rowlock_tallies (list, gate, at, added, items_change, delayed_change)
select i.list, i.gate, {now}, 1, 1, nullif(i.due is not null, false) from rowlock_items i
where i.position = last_insert_rowid() and changes() = 1;
select changes() = 1 as fits, changes() as changed
