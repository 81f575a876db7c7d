-- Names for a suggestion when a topic is unknown.
select name from rowlock_topics order by name limit 1000
