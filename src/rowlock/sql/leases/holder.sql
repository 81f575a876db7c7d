-- The name of the session that holds the list.
select s.holder from rowlock_leases h join rowlock_sessions s on s.id = h.session where h.list = :list
