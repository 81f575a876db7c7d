-- SQLite: there is one writer, so no lock is needed.
select id, gate from rowlock_lists where name = :name
