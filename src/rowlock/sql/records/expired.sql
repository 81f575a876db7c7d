-- Finished records older than their topic keeps them. A record stays as long as later records of its key.
select r.id from rowlock_records r
where r.topic = :topic and r.finished_at is not null and r.finished_at < {now} - :keep
    and not exists (select 1 from rowlock_records x where x.topic = r.topic and x.key = r.key and x.id > r.id)
order by r.finished_at limit :limit
