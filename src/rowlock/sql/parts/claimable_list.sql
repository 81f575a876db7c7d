-- Whether a session that lives may claim of the list: an exclusive one only if it holds the lease and no claim is left.
l.name = :name and l.state = 'open'
and exists (select 1 from rowlock_sessions s where s.id = :session)
and (not l.exclusive or (
    exists (select 1 from rowlock_leases h where h.list = l.id and h.session = :session and h.asked_by is null)
    and not exists (select 1 from rowlock_claims c where c.list = l.id)
))
