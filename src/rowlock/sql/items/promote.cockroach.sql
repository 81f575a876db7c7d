-- CockroachDB: rows have no ctid.
update rowlock_items set due = null, position = line.position, version = version + 1
from (
    select waiting.key, nextval('rowlock_positions') as position from (
        select i.key from rowlock_items i
        where i.list = :list and i.key {among_keys} and i.due is not null
        order by i.due, i.position
    ) as waiting
) as line
where rowlock_items.list = :list and rowlock_items.key = line.key and rowlock_items.due is not null
