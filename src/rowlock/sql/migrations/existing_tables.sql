-- Tables and views with our names; before the first migration none of them is ours.
select c.relname from pg_class c
where c.relnamespace = (select n.oid from pg_namespace n where n.nspname = current_schema())
    and c.relkind in ('f', 'm', 'p', 'r', 'v') and left(c.relname, 8) = 'rowlock_' and c.relname <> 'rowlock_migrations'
order by c.relname
