-- SQLite: a file has one mode for all its tables.
select name from sqlite_master where false
