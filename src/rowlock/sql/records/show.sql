-- A record by its number.
select t.name as topic, r.id, r.key, coalesce(r.subject, r.id) as subject, r.data as record, r.published_at, r.matched,
    r.matched_at, r.finished_at
from rowlock_records r join rowlock_topics t on t.id = r.topic
where r.id = :record
