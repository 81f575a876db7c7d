-- Like add_keys, for items that differ in more than their key; of one key given twice the first is added.
insert into rowlock_items (list, key, position, gate, priority, due, family, {payload_columns})
select :list, placed.key, placed.position, coalesce(placed.gate, :gate), placed.priority,
    case when placed.due > {now} then placed.due when placed.delay > 0 then {now} + placed.delay end,
    split_part(placed.key, cast(:separator as text), 1), {payload_columns}
from (
    select given.*, nextval('rowlock_positions') as position
    from json_to_recordset(:rows::json)
        as given (key text, gate integer, priority integer, due bigint, delay bigint, {payload_types})
) as placed
order by placed.key collate "C", placed.position
on conflict (list, key) do nothing
returning key, gate, due
