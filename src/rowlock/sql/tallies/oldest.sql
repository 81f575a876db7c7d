-- What may be folded: old enough that nobody asks again for its answer, and not of the minute that still goes on. As long
-- as a claim lives, any settlement under it may be asked for again.
select id, list, gate, at, added, done, retried, moved, failed, abandoned,
    items_change, delayed_change, failed_change, seconds
from rowlock_tallies t
where not folded and at < {now} - cast(case when token is null then :recent else :age end as bigint)
    and not exists (select 1 from rowlock_claims c where c.token = t.token)
order by id limit :limit {skip}
