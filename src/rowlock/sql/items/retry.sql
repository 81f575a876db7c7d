-- Back in line, at its end, in the order of their keys, with a clean count; the errors remember.
update rowlock_items
set failed_at = null, due = null, attempts = 0, position = line.position, version = version + 1
from (
    select waiting.key, nextval('rowlock_positions') as position from (
        select i.key from rowlock_items i
        where i.list = :list and i.key {among_keys}
            and (i.failed_at is not null or i.due is not null)
        order by i.key
    ) as waiting
) as line
where rowlock_items.list = :list and rowlock_items.key = line.key
    and (rowlock_items.failed_at is not null or rowlock_items.due is not null)
