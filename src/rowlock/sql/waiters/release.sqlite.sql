-- SQLite: new positions continue the table's own sequence.
update rowlock_items set due = null, position = line.last + line.place, version = version + 1
from (
    select i.position as was, row_number() over (order by i.list, i.key) as place,
        (select seq from sqlite_sequence where name = 'rowlock_items') as last
    from rowlock_waiters w join rowlock_items i on i.list = w.list and i.key = w.key
    where w.awaited = :awaited and i.due >= :waiting
) as line
where rowlock_items.position = line.was
returning list, gate
