-- rowlock's tables that this user may not read and write.
select c.relname from pg_class c
where c.relkind = 'r' and c.relname like 'rowlock\_%' and pg_table_is_visible(c.oid)
    and not (
        has_table_privilege(c.oid, 'select') and has_table_privilege(c.oid, 'insert')
        and has_table_privilege(c.oid, 'update') and has_table_privilege(c.oid, 'delete')
    )
order by c.relname
