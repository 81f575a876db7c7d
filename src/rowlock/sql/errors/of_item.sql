-- The newest first: how an item has failed.
select attempt, at, holder, kind, message from rowlock_errors
where list = :list and key = :key order by id desc limit :limit
