-- The newest epochs, the last one first.
select e.server, e.timeline, e.tables, e.entered_at, e.lossy from rowlock_epochs e
order by e.entered_at desc, e.timeline desc limit 2
