-- SQLite: new positions continue the table's own sequence.
update rowlock_items
set attempts = attempts + line.counted, version = version + 1, due = {now} + nullif(line.delay, 0),
    position = case when line.delay = 0 and not line.stays then line.last + line.place else position end
from (
    select json_extract(r.value, '$.position') as was, json_extract(r.value, '$.delay') as delay, json_extract(r.value, '$.counted') as counted,
        json_extract(r.value, '$.stays') as stays,
        row_number() over (order by r.key) as place,
        (select seq from sqlite_sequence where name = 'rowlock_items') as last
    from json_each(:rows) as r
) as line
where rowlock_items.position = line.was and rowlock_items.position > :low and rowlock_items.position <= :high
    and rowlock_items.list = :list and rowlock_items.gate = :gate
    and rowlock_items.priority = :priority and rowlock_items.due is null and rowlock_items.failed_at is null
