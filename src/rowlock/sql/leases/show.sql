-- The holder of a list, and the session that has requested it.
select h.session, h.asked_by from rowlock_leases h where h.list = :list
