select key, data as result, attempts, settled_at from rowlock_results
where list = :list and key = :key order by id desc limit :limit
