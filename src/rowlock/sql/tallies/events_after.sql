-- Tallies after one; folded ones were given before.
select t.id, l.name as list, t.gate, t.at, t.added, t.done, t.retried, t.moved, t.failed, t.abandoned
from rowlock_tallies t join rowlock_lists l on l.id = t.list
where t.id > :after and not t.folded and t.added + t.done + t.retried + t.moved + t.failed + t.abandoned > 0
order by t.id limit :limit
