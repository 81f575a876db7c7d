-- Records, the newest first, strictly before one, since a time.
select id, at, who, token, verb, list, count, details, request from rowlock_audit
where id < :before and at >= coalesce(cast(:moment as bigint), {now} - cast(:delay as bigint), 0)
order by id desc limit :limit
