-- SQLite: the only writer needs no lock.
select t.name as topic_name, r.topic, coalesce(r.subject, r.id) as subject, r.data, r.moment as seq, r.cursor,
    r.matched_at is not null as matched
from rowlock_records r join rowlock_topics t on t.id = r.topic
where r.id = :record
