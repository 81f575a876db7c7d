-- SQLite: a file has no server and no timeline.
select 0 as server, 0 as timeline, 0 as tables, true as synchronous, true as entered where false
