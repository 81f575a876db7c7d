-- Where the list is, and the first gates from there on where anything unfinished stands: ready or claimed, delayed or failed.
select l.name, l.gate, l.state, l.sealed, l.manual, l.settings, ({parts/first_ready}), ({parts/first_unready})
from rowlock_lists l where l.id = :list
