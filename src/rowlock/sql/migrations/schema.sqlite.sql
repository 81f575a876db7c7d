-- SQLite: a file has no schemas.
select null
