-- The open gate, and the first gates from there on with unfinished items: ready or claimed, delayed or failed.
select l.name, l.gate, l.state, l.sealed, l.manual, l.settings,
    ({parts/first_ready_gate}) as first_ready, ({parts/first_unready_gate}) as first_unready
from rowlock_lists l where l.id = :list
