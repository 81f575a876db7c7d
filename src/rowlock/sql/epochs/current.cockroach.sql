-- CockroachDB: it has no timelines, and no failover of it loses a commit.
select 0 as server, 0 as timeline, 0 as tables, true as synchronous, true as entered where false
