-- CockroachDB: every commit is on several nodes, and none of them is a standby.
select 0 as connected, 0 as visible, 0 as synchronous
