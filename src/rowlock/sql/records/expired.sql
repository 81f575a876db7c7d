-- Records whose time is over, a few at a time; one that later records of its key depend on stays as long as they do.
select r.id from rowlock_records r
where r.topic = :topic and r.finished_at is not null and r.finished_at < {now} - :keep
    and not exists (select 1 from rowlock_records x where x.topic = r.topic and x.key = r.key and x.id > r.id)
order by r.finished_at limit :limit
