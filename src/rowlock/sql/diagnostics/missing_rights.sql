-- Our tables and sequences that this user may not use as the engine does; those of identity columns need no right.
select c.relname as name, c.relkind = 'S' as is_sequence, quote_ident(current_user) as role from pg_class c
where left(c.relname, 8) = 'rowlock_'
    and c.relnamespace = (select m.relnamespace from pg_class m where m.oid = to_regclass('rowlock_migrations'))
    and case c.relkind
        when 'r' then not (
            has_table_privilege(c.oid, 'select') and has_table_privilege(c.oid, 'insert')
            and has_table_privilege(c.oid, 'update') and has_table_privilege(c.oid, 'delete')
        )
        when 'S' then not has_sequence_privilege(c.oid, 'usage')
            and not exists (select 1 from pg_depend d where d.objid = c.oid and d.deptype = 'i')
        else false
    end
order by c.relname
