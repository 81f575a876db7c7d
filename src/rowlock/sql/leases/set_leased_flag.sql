-- Brings the list's `leased` flag up to date.
update rowlock_lists set leased = exists (select 1 from rowlock_leases h where h.list = :list) where id = :list
