-- From one session to another, if there are no claims of the list now.
update rowlock_leases set session = :session, taken_at = {now}, keep = :keep
where list = :list and session = :holder and asked_by is null
    and not exists (select 1 from rowlock_claims c where c.list = :list)
    and exists (select 1 from rowlock_sessions s where s.id = :session)
