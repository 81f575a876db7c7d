-- CockroachDB: rows have no ctid; serializable transactions make sure that no request is lost.
with called as (delete from rowlock_wakes returning list)
update rowlock_lists l set wake_at = {now}, leased = l.exclusive and exists (select 1 from rowlock_leases h where h.list = l.id)
where l.id in (select called.list from called) and (l.wake_at is null or l.wake_at > {now} or l.leased)
returning l.id
