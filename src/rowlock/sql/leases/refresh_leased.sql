-- Whether somebody has the list, as it is.
update rowlock_lists set leased = exists (select 1 from rowlock_leases h where h.list = :list) where id = :list
