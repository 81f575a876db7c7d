-- A file has one mode for all its tables: none is closed by itself.
select name from sqlite_master where false
