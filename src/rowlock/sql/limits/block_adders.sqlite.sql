-- SQLite: the only writer is alone already.
select l.id from rowlock_lists l where l.id = :list
