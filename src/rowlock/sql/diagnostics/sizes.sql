-- How large our tables are with their indexes, the largest first.
select c.relname as name, pg_total_relation_size(c.oid) as bytes from pg_class c
where c.relkind = 'r' and c.relname like 'rowlock!_%%' escape '!' and pg_table_is_visible(c.oid)
order by pg_total_relation_size(c.oid) desc, c.relname
