-- SQLite: `json_each` instead of `json_to_recordset`.
insert into rowlock_subscriptions (topic, subscriber, digest, predicates, filed, born, changed, created_at)
select :topic, json_extract(value, '$.subscriber'), json_extract(value, '$.digest'),
    json_extract(value, '$.predicates'), json_extract(value, '$.filed'), :moment, :moment, {now}
from json_each(:rows) where true
on conflict (topic, subscriber, digest) where gone is null do nothing
returning subscriber, digest, id
