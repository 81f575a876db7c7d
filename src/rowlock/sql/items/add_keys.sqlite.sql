-- The table itself gives out positions, in the order given; there is one writer, so nothing can deadlock.
insert into rowlock_items (list, key, gate, priority, due, data, trace)
select :list, given.key, :gate, :priority, {now} + nullif(:delay, 0), :data, :trace
from {keys} where true
on conflict (list, key) do nothing
