-- It is not known which item of the claim killed the worker: each is claimed by itself from now on; after a second death, alone.
insert into rowlock_suspects (list, gate, priority, low, high, since, holder, deaths)
select :list, :gate, :priority, :low, :high, {now}, :holder, 1 + coalesce(max(x.deaths), 0)
from rowlock_suspects x
where x.list = :list and x.gate = :gate and x.priority = :priority and x.low < :high and x.high > :low
