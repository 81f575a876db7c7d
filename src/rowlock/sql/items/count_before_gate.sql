-- How many items are before a gate: they would never be handed out if the list advanced there.
select count(*) from rowlock_items i where i.list = :list and i.gate < :gate
