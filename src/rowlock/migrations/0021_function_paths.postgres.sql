-- Our functions find their tables whatever the search_path of the transaction that runs them.
do $$
declare
    home text := (select n.nspname from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.oid = 'rowlock_turnstile'::regclass);
    ours regprocedure;
begin
    for ours in
        select p.oid from pg_proc p join pg_namespace n on n.oid = p.pronamespace
        where n.nspname = home and left(p.proname, 8) = 'rowlock_'
    loop
        execute format('alter function %s set search_path = %I', ours, home);
    end loop;
end
$$;
