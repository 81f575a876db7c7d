-- SQLite: new positions continue the table's own sequence.
update rowlock_items
set failed_at = null, due = null, attempts = 0, position = line.last + line.place, version = version + 1
from (
    select i.position as was, row_number() over (order by i.key) as place,
        (select seq from sqlite_sequence where name = 'rowlock_items') as last
    from rowlock_items i
    where i.list = :list and i.key {among_keys}
        and (i.failed_at is not null or i.due is not null)
) as line
where rowlock_items.position = line.was
