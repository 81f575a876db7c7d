-- Topics by name, strictly after one.
select id, name, fields, keep_for, version from rowlock_topics
where name > :after order by name limit :limit
