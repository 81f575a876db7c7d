-- SQLite: `json_each` instead of `json_array_elements`.
insert into rowlock_records (topic, key, subject, data, moment, published_at)
select :topic, json_extract(value, '$.key'), json_extract(value, '$.subject'), json_extract(value, '$.data'), :moment, {now}
from json_each(:rows) where true order by key
on conflict (topic, key) where subject is null do nothing
returning id, key, subject
