-- The holder hands the list over when its claims are settled: from now on nothing more of it can be claimed.
update rowlock_leases set asked_by = :session
where list = :list and session = :holder and asked_by is null
    and exists (select 1 from rowlock_sessions s where s.id = :session)
