-- Nobody needs to be told: whoever waits watches the file.
insert into rowlock_wakes (list) values (:list)
