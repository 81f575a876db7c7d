-- What a session had in hand is free again: somebody should look.
insert into rowlock_wakes (list) select distinct c.list from rowlock_claims c where c.session = :session
returning pg_notify('rowlock', '')
