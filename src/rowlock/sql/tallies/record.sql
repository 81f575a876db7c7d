-- One row per batch; counts are sums of these rows, so that items never have to be counted. Zeros are null: a shorter row.
insert into rowlock_tallies
    (list, gate, at, added, done, retried, moved, failed, abandoned, items_change, delayed_change, failed_change)
values
    (:list, :gate, {now}, nullif(:added, 0), nullif(:done, 0), nullif(:retried, 0), nullif(:moved, 0), nullif(:failed, 0),
     nullif(:abandoned, 0), nullif(:items_change, 0), nullif(:delayed_change, 0), nullif(:failed_change, 0))
