-- Whether the list still has this lane alone, no limits, no lease and no suspects after the floor, and the session is alive.
exists (
    select 1 from rowlock_lists l
    where l.id = :list and l.name = :name and l.state = 'open' and l.gate = :gate and l.lanes = 1 << cast(:priority as integer)
        and not l.exclusive and l.limits is null
)
and exists (select 1 from rowlock_sessions s where s.id = :session)
and not exists (
    select 1 from rowlock_suspects x
    where x.list = :list and x.gate = :gate and x.priority = :priority and x.high > :floor
)
