-- SQLite: a file has no standbys.
select 0 as connected, 0 as visible, 0 as synchronous
