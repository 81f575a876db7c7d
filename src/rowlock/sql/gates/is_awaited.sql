-- Whether items at a later gate, or the list's completion, wait for the open gate.
select 1 from rowlock_lists l where l.id = :list and {parts/gate_awaited}
