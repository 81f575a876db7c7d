-- How long the claims of each list were held, in total.
select l.name, sum(t.seconds) from rowlock_lists l join rowlock_tallies t on t.list = l.id
where l.name {among_keys} group by l.name
