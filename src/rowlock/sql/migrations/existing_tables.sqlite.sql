-- SQLite: the catalogue has another name.
select name from sqlite_master
where type in ('table', 'view') and substr(name, 1, 8) = 'rowlock_' and name <> 'rowlock_migrations'
order by name
