-- An item that waits for a list to be complete, and for none that is there: it would wait for ever. It is due in
-- two million days (waiters.WAITING), which is longer than anybody can ask for.
select l.name, i.key from rowlock_items i join rowlock_lists l on l.id = i.list
where i.due >= 172800000000000 and not exists (
    select 1 from rowlock_waiters w join rowlock_lists a on a.id = w.awaited
    where w.list = i.list and w.key = i.key and a.state <> 'complete'
)
order by l.name, i.key
