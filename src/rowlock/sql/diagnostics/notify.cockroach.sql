-- CockroachDB: it has no notifications, workers poll.
select null
