-- Delayed and failed items by their gate: whether anything unfinished stands at a gate, and where the next such item
-- stands, is one look into this index. `coalesce`, so that who asks for failed items alone is never led to it.
create index rowlock_items_unready on rowlock_items (list, gate) where coalesce(due, failed_at) is not null;
