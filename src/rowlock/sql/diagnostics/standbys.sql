-- Standbys that follow this server, and how many of them a commit waits for; a plain user does not see the second.
select count(*) as connected, count(sync_state) as visible,
    count(*) filter (where sync_state in ('sync', 'quorum')) as synchronous
from pg_stat_replication where state is distinct from 'backup'
