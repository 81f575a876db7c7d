-- SQLite: `json_each` instead of `json_to_recordset`.
update rowlock_subscriptions set version = version + 1, filed = (
    select json_extract(value, '$.filed') from json_each(:rows) where json_extract(value, '$.id') = rowlock_subscriptions.id
)
where id in (select json_extract(value, '$.id') from json_each(:rows))
