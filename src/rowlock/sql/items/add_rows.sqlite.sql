-- Like add_keys, for items that differ in more than their key.
insert into rowlock_items (list, key, gate, priority, due, data)
select :list, value ->> 'key', coalesce(value ->> 'gate', :gate), value ->> 'priority',
    case when value ->> 'due' > {now} then value ->> 'due'
        when value ->> 'delay' > 0 then {now} + (value ->> 'delay') end,
    value ->> 'data'
from json_each(:rows) where true
on conflict (list, key) do nothing
returning gate, due
