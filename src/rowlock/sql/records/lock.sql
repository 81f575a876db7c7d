-- A record and its place in the commit order, locked against other workers that match it.
select t.name as topic_name, r.topic, coalesce(r.subject, r.id) as subject, r.data,
    coalesce((select m.seq from rowlock_moments m where m.id = r.moment), 9223372036854775807) as seq,
    r.cursor, r.matched_at is not null as matched
from rowlock_records r join rowlock_topics t on t.id = r.topic
where r.id = :record for update of r
