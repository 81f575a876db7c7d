-- A settled batch, with the receipt by which a repeated settlement is recognised, and the items that were gone. Zeros are null.
insert into rowlock_tallies
    (list, gate, at, token, receipt, gone, done, retried, moved, failed, items_change, delayed_change, failed_change)
values
    (:list, :gate, {now}, :token, :receipt, :gone, nullif(:done, 0), nullif(:retried, 0), nullif(:moved, 0),
     nullif(:failed, 0), nullif(:items_change, 0), nullif(:delayed_change, 0), nullif(:failed_change, 0))
