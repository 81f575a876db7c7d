-- There are no notifications here: whoever waits looks again now and then.
insert into rowlock_wakes (list) select distinct c.list from rowlock_claims c where c.session = :session
