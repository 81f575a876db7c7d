-- SQLite: the table itself gives out positions, in the order given; there is one writer, so nothing can deadlock.
insert into rowlock_items (list, key, gate, priority, due, family, {payload_columns})
select :list, given.key, :gate, :priority, {now} + nullif(:delay, 0),
    case when :separator is null then null
        when instr(given.key, :separator) > 0 then substr(given.key, 1, instr(given.key, :separator) - 1) else given.key end,
    {payload_parameters}
from {keys} where true
on conflict (list, key) do nothing
