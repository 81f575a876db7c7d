-- Tallies that may be folded: too old for a repeated settlement to be answered from them, and not of the current minute. While
-- a claim exists, any settlement under it may be repeated.
select t.id, t.list, t.gate, t.at, {parts/tally_events}, {parts/tally_changes}
from rowlock_tallies t
where t.at < {now} - cast(case when t.token is null then :recent else :age end as bigint)
    and not exists (select 1 from rowlock_claims c where c.token = t.token)
order by t.id limit :limit {skip}
