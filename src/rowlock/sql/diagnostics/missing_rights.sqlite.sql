-- A file has one mode for all its tables: none is closed by itself.
select name, false as is_sequence, '' as role from sqlite_master where false
