-- SQLite: settings belong to the connection, there is no table of them.
select 'server_version', sqlite_version()
union all select 'journal_mode', journal_mode from pragma_journal_mode
union all select 'synchronous', case synchronous when 0 then 'off' when 1 then 'normal' when 2 then 'full' else 'extra' end
    from pragma_synchronous
union all select 'foreign_keys', case foreign_keys when 1 then 'on' else 'off' end from pragma_foreign_keys
