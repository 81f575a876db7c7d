-- CockroachDB: migrations make no functions.
select '' as name where false
