-- SQLite: json_each instead of json_to_recordset. Like add_keys, for items that differ in more than their key.
insert into rowlock_items (list, key, gate, priority, due, family, {payload_columns})
select :list, json_extract(value, '$.key'),
    coalesce(json_extract(value, '$.gate'), :gate), json_extract(value, '$.priority'),
    case when json_extract(value, '$.due') > {now} then json_extract(value, '$.due')
        when json_extract(value, '$.delay') > 0 then {now} + json_extract(value, '$.delay') end,
    case when :separator is null then null
        when instr(json_extract(value, '$.key'), :separator) > 0
            then substr(json_extract(value, '$.key'), 1, instr(json_extract(value, '$.key'), :separator) - 1)
        else json_extract(value, '$.key') end,
    {payload_of_json}
from json_each(:rows) where true
on conflict (list, key) do nothing
returning key, gate, due
