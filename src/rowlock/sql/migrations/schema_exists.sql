-- Before it is created: a user who may not create schemas can use one that exists.
select 1 from pg_namespace n where n.nspname = :schema
