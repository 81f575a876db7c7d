-- Settings that decide whether a commit survives a power cut or a failover.
select name, setting from pg_settings
where name in ('server_version', 'fsync', 'full_page_writes', 'synchronous_commit', 'synchronous_standby_names',
    'in_hot_standby', 'default_transaction_read_only')
