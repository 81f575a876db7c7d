-- A claim that no session holds would never end.
select c.token, c.session from rowlock_claims c
where not exists (select 1 from rowlock_sessions s where s.id = c.session)
order by c.token
