-- SQLite: never run, because a file has no round trips to save.
select false as fits, 0 as changed where :name is null and :key is null
