-- SQLite: `json_each` instead of `json_to_recordset`.
insert into rowlock_filings (
    key, sort, subscription, part, born, checks, c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, l0, h0, l1,
    h1, l2, h2, l3, h3, l4, h4, l5, h5
)
select
    json_extract(value, '$.key'), json_extract(value, '$.sort'), json_extract(value, '$.subscription'),
    json_extract(value, '$.part'), :moment, json_extract(value, '$.checks'), json_extract(value, '$.c0'),
    json_extract(value, '$.c1'), json_extract(value, '$.c2'), json_extract(value, '$.c3'),
    json_extract(value, '$.c4'), json_extract(value, '$.c5'), json_extract(value, '$.c6'),
    json_extract(value, '$.c7'), json_extract(value, '$.c8'), json_extract(value, '$.c9'),
    json_extract(value, '$.c10'), json_extract(value, '$.c11'), json_extract(value, '$.l0'),
    json_extract(value, '$.h0'), json_extract(value, '$.l1'), json_extract(value, '$.h1'),
    json_extract(value, '$.l2'), json_extract(value, '$.h2'), json_extract(value, '$.l3'),
    json_extract(value, '$.h3'), json_extract(value, '$.l4'), json_extract(value, '$.h4'),
    json_extract(value, '$.l5'), json_extract(value, '$.h5')
from json_each(:rows)
