-- There are no notifications here: whoever waits looks again now and then.
insert into rowlock_wakes (list) values (:list)
