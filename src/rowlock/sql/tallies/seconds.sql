-- How long the claims of some lists were held, all together.
select l.name, sum(t.seconds) from rowlock_lists l join rowlock_tallies t on t.list = l.id
where l.name {among_keys} group by l.name
