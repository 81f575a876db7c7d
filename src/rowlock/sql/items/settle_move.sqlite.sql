-- SQLite: new positions continue the table's own sequence.
update rowlock_items
set gate = line.to_gate, data = case when line.keeps_data then rowlock_items.data else line.data end,
    attempts = case when line.to_gate = gate then attempts else 0 end,
    due = {now} + nullif(line.delay, 0), position = line.last + line.place, version = version + 1
from (
    select json_extract(r.value, '$.position') as was, json_extract(r.value, '$.to_gate') as to_gate, json_extract(r.value, '$.keeps_data') as keeps_data,
        json_extract(r.value, '$.data') as data, json_extract(r.value, '$.delay') as delay,
        row_number() over (order by r.key) as place,
        (select seq from sqlite_sequence where name = 'rowlock_items') as last
    from json_each(:rows) as r
) as line
where rowlock_items.position = line.was and rowlock_items.position > :low and rowlock_items.position <= :high
    and rowlock_items.list = :list and rowlock_items.gate = :gate
    and rowlock_items.priority = :priority and rowlock_items.due is null and rowlock_items.failed_at is null
