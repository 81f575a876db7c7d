-- The schema in which this connection's search_path finds our tables.
select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
where c.oid = to_regclass('rowlock_migrations')
