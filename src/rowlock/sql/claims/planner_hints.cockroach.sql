-- CockroachDB: it has no such settings.
select 1
