-- SQLite: the only writer needs no lock.
select t.name, r.topic, coalesce(r.subject, r.id), r.data, r.moment, r.cursor, r.matched_at is not null
from rowlock_records r join rowlock_topics t on t.id = r.topic
where r.id = :record
