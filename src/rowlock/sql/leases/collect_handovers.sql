-- What was asked for and is in nobody's hands any more. No claim can have come between: who was asked is handed nothing.
update rowlock_leases set session = asked_by, asked_by = null, taken_at = {now}, keep = :keep
where asked_by = :session and not exists (select 1 from rowlock_claims c where c.list = rowlock_leases.list)
