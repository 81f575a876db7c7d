-- Items as another database had them, in the order given; those that are on the list stay as they are.
insert into rowlock_items (list, key, position, gate, priority, attempts, version, due, failed_at, family, {payload_columns})
select :list, placed.key, placed.position, placed.gate, placed.priority, placed.attempts, placed.version, placed.due, placed.failed_at,
    split_part(placed.key, cast(:separator as text), 1), {payload_columns}
from (
    select given.*, nextval('rowlock_positions') as position
    from json_to_recordset(:rows::json) as given (
        key text, gate integer, priority integer, attempts integer, version integer, due bigint, failed_at bigint, {payload_types}
    )
) as placed
on conflict (list, key) do nothing
returning key, gate, attempts, due is not null as delayed, failed_at is not null as failed
