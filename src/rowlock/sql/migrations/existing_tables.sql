-- Tables and views with our names; before the first migration none of them is ours.
select c.relname from pg_class c
where c.relnamespace = (select m.relnamespace from pg_class m where m.oid = to_regclass('rowlock_migrations'))
    and c.relkind in ('f', 'm', 'p', 'r', 'v') and left(c.relname, 8) = 'rowlock_'
    and c.oid <> to_regclass('rowlock_migrations')
order by c.relname
