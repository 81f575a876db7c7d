select d.key, d.at from rowlock_done_keys d
where d.list = :list and d.key > :after and d.at is not null
order by d.key limit :limit
