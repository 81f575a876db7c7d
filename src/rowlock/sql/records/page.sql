-- Records of a topic, the newest first.
select t.name as topic, r.id, r.key, coalesce(r.subject, r.id) as subject, r.data as record, r.published_at, r.matched,
    r.matched_at, r.finished_at
from rowlock_records r join rowlock_topics t on t.id = r.topic
where r.topic = :topic and r.id < :before order by r.id desc limit :limit
