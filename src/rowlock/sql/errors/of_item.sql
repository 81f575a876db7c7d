-- How an item has failed, the newest first.
select e.attempt, e.at, e.holder, e.kind, e.message, e.traceback from rowlock_lists l join rowlock_errors e on e.list = l.id
where l.name = :list and e.key = :key order by e.id desc limit :limit
