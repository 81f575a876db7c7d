-- To the session that has requested the list, when no claim of it is left.
update rowlock_leases set session = asked_by, asked_by = null, taken_at = {now}
where list = :list and session = :session and asked_by is not null
    and not exists (select 1 from rowlock_claims c where c.list = :list)
