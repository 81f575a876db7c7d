-- SQLite: the only writer sees everything.
select true
