-- SQLite: settings belong to the connection, there is no table of them.
select 'server_version', sqlite_version()
union all select 'journal_mode', journal_mode from pragma_journal_mode
union all select 'synchronous', cast(synchronous as text) from pragma_synchronous
union all select 'foreign_keys', cast(foreign_keys as text) from pragma_foreign_keys
