-- Claimers of one list take turns. A claim is not flushed: one that a crash of the database forgets is one that nobody
-- can settle, so its items are simply free again. The planner is told to go by the indexes: it knows the claims as a
-- tiny table, also when a long transaction keeps an hour's dead ones from being vacuumed. And to make its plan once: on
-- a large list it thinks otherwise that one for each claim is better, which takes five times as long as the claim.
select l.id, l.exclusive, l.limits, l.lanes, set_config('synchronous_commit', 'off', true), set_config('enable_seqscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true), set_config('jit', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true)
from rowlock_lists l where l.name = :name {lock}
