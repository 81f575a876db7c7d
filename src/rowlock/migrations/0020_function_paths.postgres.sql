-- The variables of a transaction are named after the table, for tables in another schema have turns of their own.
create or replace function rowlock_take_turn() returns trigger language plpgsql as $$
declare
    turn bigint := nullif(current_setting('rowlock.turn_' || tg_relid, true), '')::bigint;
    kinds text := current_setting('rowlock.kinds_' || tg_relid, true);
begin
    -- At the very end of the transaction, and until its commit can be seen: milliseconds.
    if kinds = '1' then
        lock table rowlock_turnstile in share mode;
    elsif kinds = '2' then
        lock table rowlock_turnstile in row exclusive mode;
    else
        lock table rowlock_turnstile in share row exclusive mode;
    end if;
    if turn is null then
        turn := nextval('rowlock_turns');
        perform set_config('rowlock.turn_' || tg_relid, turn::text, true);
    end if;
    update rowlock_moments set seq = turn where id = new.id;
    return null;
end
$$;

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
