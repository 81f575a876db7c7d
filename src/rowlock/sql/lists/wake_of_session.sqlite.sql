-- SQLite: no notification is needed, waiting processes watch the file.
insert into rowlock_wakes (list)
select c.list from rowlock_claims c where c.session = :session
union select h.list from rowlock_leases h where h.session = :session
