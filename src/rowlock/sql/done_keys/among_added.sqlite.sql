-- SQLite: there is one writer, so no add waits for a settlement.
select d.key from rowlock_done_keys d where d.list = :list and d.key {among_keys} and d.at is not null
