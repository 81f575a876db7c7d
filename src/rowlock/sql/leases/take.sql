-- Takes lists that no session holds. Lists that are being claimed from at this moment are left out: to wait for them while
-- holding others could deadlock. If two sessions take one list, the primary key lets one have it.
with free as (
    select l.id from rowlock_lists l
    where l.id in ({ids}) and l.exclusive and l.state = 'open'
        and (not l.leased or not exists (select 1 from rowlock_leases h where h.list = l.id))
        and exists (select 1 from rowlock_sessions s where s.id = :session)
    order by l.id for no key update of l skip locked
),
marked as (update rowlock_lists l set leased = true from free where l.id = free.id)
insert into rowlock_leases (list, session, taken_at, keep)
select free.id, :session, {now}, :keep from free
on conflict (list) do nothing
returning list
