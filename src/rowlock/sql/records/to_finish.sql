-- Records whose list is complete or was dropped: no notification will be added any more.
select r.id, t.name, l.name
from rowlock_records r
join rowlock_topics t on t.id = r.topic
left join rowlock_lists l on l.name = 'topics/' || t.name || '/' || cast(r.id as text)
where r.finished_at is null and (l.id is null or l.state = 'complete') and r.published_at < {now} - :age
order by r.id limit :limit
