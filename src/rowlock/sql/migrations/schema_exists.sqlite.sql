-- SQLite: a file has no schemas.
select 1 where :schema is null
