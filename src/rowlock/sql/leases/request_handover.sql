-- Who has the list in hand gives it up when that is settled: from now on nothing of it is handed out.
update rowlock_leases set asked_by = :session
where list = :list and session = :holder and asked_by is null
    and exists (select 1 from rowlock_sessions s where s.id = :session)
