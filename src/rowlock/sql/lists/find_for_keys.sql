-- The list, before its items are looked up by their keys: a kept plan could read the whole table for a few of them.
select l.id, l.name, l.state, l.gate, l.sealed, l.version, l.settings
from {custom_plan} rowlock_lists l
where l.name = :name
