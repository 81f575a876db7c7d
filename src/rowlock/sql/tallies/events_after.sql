-- Tallies after one, in which something happened.
select t.id, l.name as list, t.gate, t.at, t.added, t.done, t.retried, t.moved, t.failed, t.abandoned
from (
    select t.id, t.list, t.gate, t.at, {parts/tally_events} from rowlock_tallies t where t.id > :after
) as t join rowlock_lists l on l.id = t.list
where t.added + t.done + t.retried + t.moved + t.failed + t.abandoned > 0
order by t.id limit :limit
