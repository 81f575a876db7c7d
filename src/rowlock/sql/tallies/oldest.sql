-- What may be folded: old enough that nobody asks again for its answer, and not of the minute that still goes on.
select id, list, gate, at, added, done, retried, moved, failed, abandoned,
    items_change, delayed_change, failed_change, seconds
from rowlock_tallies
where not folded and at < {now} - cast(case when token is null then :recent else :age end as bigint)
order by id limit :limit {skip}
