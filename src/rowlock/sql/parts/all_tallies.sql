-- The sums of old tallies, and the tallies that are not folded yet.
select s.list, s.gate, s.added, s.done, s.retried, s.moved, s.failed, s.abandoned, s.items_change, s.delayed_change,
    s.failed_change, s.seconds
from rowlock_sums s
union all
select t.list, t.gate, {parts/tally_events}, {parts/tally_changes} from rowlock_tallies t
