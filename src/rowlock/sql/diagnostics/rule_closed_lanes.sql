-- A claim looks only at the lanes that the list has: an item of another priority shows as ready and is never handed out.
select l.name, i.key, i.priority from rowlock_items i join rowlock_lists l on l.id = i.list
where (l.lanes >> cast(i.priority as integer)) & 1 = 0 order by l.name, i.key limit 100
