-- What has been applied, oldest first.
select number, name, checksum from rowlock_migrations order by number
