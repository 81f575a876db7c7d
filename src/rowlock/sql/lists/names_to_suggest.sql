-- Names among which the most similar one is suggested.
select name from rowlock_lists order by name limit 1000
