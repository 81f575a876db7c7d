-- One migrator at a time; the lock ends with its transaction, also when the process is killed.
select pg_advisory_xact_lock(728642001)
