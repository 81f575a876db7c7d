-- Like add_keys, for a list that this transaction has created: a key that is given twice is an error of a unique index.
insert into rowlock_items (list, key, position, gate, priority, due, family, {payload_columns})
select :list, placed.key, placed.position, :gate, :priority, {now} + nullif(cast(:delay as bigint), 0),
    split_part(placed.key, cast(:separator as text), 1), {payload_parameters}
from (select given.key, nextval('rowlock_positions') as position from {keys}) as placed
order by placed.key collate "C", placed.position
