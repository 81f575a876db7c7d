-- SQLite: `json_each` instead of `json_to_recordset`.
insert into rowlock_notifications (topic, record, subject, subscriber, subscription, predicates, matched_at)
select :topic, :record, :subject, json_extract(value, '$.subscriber'), json_extract(value, '$.subscription'),
    json_extract(value, '$.predicates'), {now}
from json_each(:rows) where true
on conflict (subscriber, subject) do nothing
returning subscriber, predicates
