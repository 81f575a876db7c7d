-- Items in the hands of live sessions.
select cast(coalesce(sum(remaining), 0) as bigint) from rowlock_claims where list = :list and gate = :gate
