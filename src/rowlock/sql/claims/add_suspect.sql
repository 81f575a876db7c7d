-- Whose item killed the worker is not known: each will be handed out alone.
insert into rowlock_suspects (list, gate, priority, low, high, since, holder)
values (:list, :gate, :priority, :low, :high, {now}, :holder)
