-- The sums of a gate so far, to be replaced by one that is larger; not those that are near the end of an integer.
delete from rowlock_tallies
where list = :list and gate = :gate and folded
    and added < 500000000 and done < 500000000 and retried < 500000000 and moved < 500000000
returning gate, added, done, retried, moved, failed, abandoned, items_change, delayed_change, failed_change, seconds
