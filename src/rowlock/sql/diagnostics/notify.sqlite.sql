-- SQLite: it has no notifications, waiting processes watch the file.
select null
