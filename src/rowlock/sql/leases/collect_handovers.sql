-- Takes over requested lists without claims. No claim can have come between: after a request nothing can be claimed.
update rowlock_leases set session = asked_by, asked_by = null, taken_at = {now}, keep = :keep
where asked_by = :session and not exists (select 1 from rowlock_claims c where c.list = rowlock_leases.list)
