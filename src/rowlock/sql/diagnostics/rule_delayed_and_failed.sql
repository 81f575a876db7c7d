-- A failed item is not delayed.
select l.name, i.key from rowlock_items i join rowlock_lists l on l.id = i.list
where i.due is not null and i.failed_at is not null order by l.name, i.key
