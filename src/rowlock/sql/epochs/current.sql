-- Which server this is, its timeline, and which copy of our tables: a failover, a restore or a dump changes one of them.
-- A standby has no timeline of its own, and gives no row.
select here.server, here.timeline, here.tables, here.synchronous,
    exists (
        select 1 from rowlock_epochs e
        where e.server = here.server and e.timeline = here.timeline and e.tables = here.tables
    ) as entered
from (
    select (select system_identifier from pg_control_system()) as server,
        ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::bigint as timeline,
        to_regclass('rowlock_migrations')::oid::bigint as tables,
        current_setting('synchronous_standby_names') <> ''
            and current_setting('synchronous_commit') not in ('off', 'local') as synchronous
    where not pg_is_in_recovery()
) as here
