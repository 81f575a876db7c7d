-- A record that is to be matched further, locked against anybody else who does.
select t.name, r.topic, coalesce(r.subject, r.id), r.data, r.moment, r.cursor, r.matched_at is not null
from rowlock_records r join rowlock_topics t on t.id = r.topic
where r.id = :record for update of r
