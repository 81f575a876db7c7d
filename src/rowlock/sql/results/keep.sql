-- Where the list keeps results: what became of a done item.
insert into rowlock_results (list, key, data, attempts, settled_at)
values (:list, :key, :data, :attempts, {now})
