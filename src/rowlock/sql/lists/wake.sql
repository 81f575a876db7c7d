-- A call to look at a sleeping list: it commits with what it is about, and waits for nobody.
insert into rowlock_wakes (list) values (:list) returning pg_notify('rowlock', '')
