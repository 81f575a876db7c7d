-- The sum of many old tallies, in their place.
insert into rowlock_tallies
    (list, gate, at, added, done, retried, moved, failed, abandoned,
     items_change, delayed_change, failed_change, seconds, folded)
values
    (:list, :gate, :at, :added, :done, :retried, :moved, :failed, :abandoned,
     :items_change, :delayed_change, :failed_change, :seconds, true)
