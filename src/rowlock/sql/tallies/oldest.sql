-- What may be folded: old enough that nobody asks again for its answer, and not yet the only one of its minute.
select id, list, gate, at, added, done, retried, moved, failed, abandoned,
    items_change, delayed_change, failed_change, seconds
from rowlock_tallies
where not folded and at < {now} - cast(:age as bigint)
order by id limit :limit {skip}
