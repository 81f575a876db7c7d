-- SQLite: a writing transaction is alone on the file already.
select l.id, l.exclusive, l.limits, l.lanes from rowlock_lists l where l.name = :name
