-- How many items stand below a gate: they would never be handed out if the list went there.
select count(*) from rowlock_items i where i.list = :list and i.gate < :gate
