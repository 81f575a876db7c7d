-- A writing transaction is alone on the file already.
select l.id from rowlock_lists l where l.name = :name
