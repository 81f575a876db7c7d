-- SQLite: `json_each` instead of `json_to_recordset`.
update rowlock_filings set gone = :moment
where gone is null and (key, sort, subscription, part) in (
    select json_extract(value, '$.key'), json_extract(value, '$.sort'),
        json_extract(value, '$.subscription'), json_extract(value, '$.part')
    from json_each(:rows)
)
