-- Releases a list unless claims of it are left.
delete from rowlock_leases
where list = :list and session = :session and not exists (select 1 from rowlock_claims c where c.list = :list)
