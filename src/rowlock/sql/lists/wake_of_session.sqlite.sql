-- Nobody needs to be told here: whoever waits watches the file.
insert into rowlock_wakes (list) select distinct c.list from rowlock_claims c where c.session = :session
