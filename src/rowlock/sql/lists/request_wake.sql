-- Requests a wake of a list: it commits with the change that is the reason, and waits for no lock.
insert into rowlock_wakes (list) values (:list) {notify}
