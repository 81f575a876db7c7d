-- How items have failed, the oldest first.
select e.key, e.attempt, e.at, e.holder, e.kind, e.message
from rowlock_errors e where e.list = :list and e.key {among_keys} order by e.id
