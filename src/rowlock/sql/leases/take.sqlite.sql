-- SQLite: two statements, because it cannot write inside a with; the only writer waits for nobody.
insert into rowlock_leases (list, session, taken_at, keep)
select l.id, :session, {now}, :keep from rowlock_lists l
where l.id in ({ids}) and l.exclusive and l.state = 'open'
    and exists (select 1 from rowlock_sessions s where s.id = :session)
on conflict (list) do nothing;
update rowlock_lists set leased = 1
where id in ({ids})
    and exists (select 1 from rowlock_leases h where h.list = rowlock_lists.id and h.session = :session)
returning id
