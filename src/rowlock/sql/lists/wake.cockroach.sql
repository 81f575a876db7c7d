-- CockroachDB: it has no notifications, workers poll.
insert into rowlock_wakes (list) values (:list)
