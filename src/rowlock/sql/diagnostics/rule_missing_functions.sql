-- A function that migrations make is missing: a dump of the tables alone leaves it out.
select f.name from (values ('take_turn'), ('settled')) as f (name) where not exists (
    select 1 from pg_proc p where p.proname = 'rowlock' || '_' || f.name
        and p.pronamespace = (select m.relnamespace from pg_class m where m.oid = to_regclass('rowlock_migrations'))
)
order by f.name
