-- SQLite: it has no such functions.
select 1;
