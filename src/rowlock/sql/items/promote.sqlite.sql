-- SQLite: new positions continue the table's own sequence.
update rowlock_items set due = null, position = line.last + line.place, version = version + 1
from (
    select i.position as was, row_number() over (order by i.due, i.position) as place,
        (select seq from sqlite_sequence where name = 'rowlock_items') as last
    from rowlock_items i
    where i.list = :list and i.due is not null and i.key {among_keys}
) as line
where rowlock_items.position = line.was
