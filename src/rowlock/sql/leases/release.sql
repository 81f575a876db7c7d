-- Given back, unless something of the list is in hand.
delete from rowlock_leases
where list = :list and session = :session and not exists (select 1 from rowlock_claims c where c.list = :list)
