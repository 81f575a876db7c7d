-- Names near which somebody may have meant one.
select name from rowlock_topics order by name limit 1000
