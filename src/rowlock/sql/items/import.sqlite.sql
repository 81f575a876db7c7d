-- SQLite: json_each instead of json_to_recordset, and the table itself gives out positions.
insert into rowlock_items (list, key, gate, priority, attempts, version, due, failed_at, family, {payload_columns})
select :list, json_extract(value, '$.key'), json_extract(value, '$.gate'), json_extract(value, '$.priority'),
    json_extract(value, '$.attempts'), json_extract(value, '$.version'), json_extract(value, '$.due'), json_extract(value, '$.failed_at'),
    case when :separator is null then null
        when instr(json_extract(value, '$.key'), :separator) > 0
            then substr(json_extract(value, '$.key'), 1, instr(json_extract(value, '$.key'), :separator) - 1)
        else json_extract(value, '$.key') end,
    {payload_of_json}
from json_each(:rows) where true
on conflict (list, key) do nothing
returning key, gate, attempts, due is not null as delayed, failed_at is not null as failed
