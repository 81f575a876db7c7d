-- SQLite: `json_each` instead of `json_to_recordset`.
select s.subscriber, s.digest, s.id
from json_each(:rows) as given
cross join rowlock_subscriptions s
where s.topic = :topic and s.subscriber = json_extract(given.value, '$.subscriber')
    and s.digest = json_extract(given.value, '$.digest') and s.gone is null
