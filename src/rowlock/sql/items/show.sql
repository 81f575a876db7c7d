-- One item as it stands; its state is computed from its place and from the claims.
select l.name as list, {parts/state} as state, {item_columns}
from rowlock_lists l join rowlock_items i on i.list = l.id
where l.name = :list and i.key = :key
