-- Whether a list is still as it was seen, and somebody lives who asks: this lane alone, no limits, nobody who has it, and no
-- suspects after the floor.
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
