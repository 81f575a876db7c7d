-- What came of a tick.
insert into rowlock_ticks (schedule, at, items, added, error, triggered)
values (:schedule, {now}, :items, :added, :error, cast(:triggered as boolean))
