-- CockroachDB: it has no such functions.
select 1;
