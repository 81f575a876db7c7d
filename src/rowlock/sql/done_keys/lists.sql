-- Lists that remember what was done; few of them.
select id, settings from rowlock_lists where once
