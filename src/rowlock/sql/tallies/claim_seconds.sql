-- How long the claims of each list were held, in total.
select l.name, coalesce((select sum(s.seconds) from rowlock_sums s where s.list = l.id), 0)
    + coalesce((select sum(t.seconds) from rowlock_tallies t where t.list = l.id), 0)
from rowlock_lists l where l.name {among_keys}
