-- Done or abandoned: the row is gone either way, and the tally records which.
delete from rowlock_items where list = :list and key {among_keys}
returning key, gate, attempts, due is not null as delayed, failed_at is not null as failed
