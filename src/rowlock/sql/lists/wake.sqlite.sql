-- SQLite: no notification is needed, waiting processes watch the file.
insert into rowlock_wakes (list) values (:list)
