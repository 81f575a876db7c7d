-- SQLite: a file has no functions.
select '' as name where false
