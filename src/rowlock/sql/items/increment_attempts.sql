-- A failed attempt that a client without a claim reports.
update rowlock_items set attempts = attempts + 1, version = version + 1
where list = :list and key {among_keys} and attempts < 2147483647
returning key, gate, attempts, due is not null as delayed, failed_at is not null as failed
