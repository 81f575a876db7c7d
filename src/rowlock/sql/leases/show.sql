-- In whose hands a list is.
select h.session, h.asked_by from rowlock_leases h where h.list = :list
