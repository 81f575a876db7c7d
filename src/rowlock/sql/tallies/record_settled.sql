-- A settled batch, with the receipt by which a repeated settlement is recognised, and the items that were gone.
insert into rowlock_tallies
    (list, gate, at, token, receipt, gone, done, retried, moved, failed, items_change, delayed_change, failed_change)
values
    (:list, :gate, {now}, :token, :receipt, :gone, :done, :retried, :moved, :failed,
     :items_change, :delayed_change, :failed_change)
