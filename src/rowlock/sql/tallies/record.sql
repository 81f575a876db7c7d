-- One row per batch; counts are sums of these rows, so that items never have to be counted.
insert into rowlock_tallies
    (list, gate, at, added, done, retried, moved, failed, abandoned, items_change, delayed_change, failed_change)
values
    (:list, :gate, {now}, :added, :done, :retried, :moved, :failed, :abandoned,
     :items_change, :delayed_change, :failed_change)
