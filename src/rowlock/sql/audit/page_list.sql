-- Records of one list, by its own index.
select id, at, who, token, verb, list, count, details, request from rowlock_audit
where list = :list and id < :before and at >= coalesce(cast(:moment as bigint), {now} - cast(:delay as bigint), 0)
order by id desc limit :limit
