-- SQLite: a file has no schemas.
select 1
