-- Tallies that may be folded: too old for a repeated settlement to be answered from them, and not of the current minute. While
-- a claim exists, any settlement under it may be repeated.
select id, list, gate, at, added, done, retried, moved, failed, abandoned,
    items_change, delayed_change, failed_change, seconds
from rowlock_tallies t
where not folded and at < {now} - cast(case when token is null then :recent else :age end as bigint)
    and not exists (select 1 from rowlock_claims c where c.token = t.token)
order by id limit :limit {skip}
