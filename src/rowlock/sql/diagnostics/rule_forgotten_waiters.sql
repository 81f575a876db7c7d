-- An item that waits for no existing list would wait for ever. It is due in two million days
-- (dependencies.WAITING_DELAY), which is longer than any duration that can be given.
select l.name, i.key from rowlock_items i join rowlock_lists l on l.id = i.list
where i.due >= 172800000000000 and not exists (
    select 1 from rowlock_waiters w join rowlock_lists a on a.id = w.awaited
    where w.list = i.list and w.key = i.key and a.state <> 'complete'
)
order by l.name, i.key
