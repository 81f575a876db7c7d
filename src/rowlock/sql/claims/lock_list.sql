-- Claimers of one list take turns. A claim is not flushed: if a crash of the database forgets it, nobody can settle it and its
-- items are free again. The planner must go by the indexes: it knows the claims as a tiny table, also when a long transaction
-- keeps an hour's dead rows from being vacuumed. And it must make its plan once: on a large list it would plan each claim
-- anew, which takes five times as long as the claim.
select l.id, l.exclusive, l.limits, l.lanes, set_config('synchronous_commit', 'off', true), set_config('enable_seqscan', 'off', true),
    set_config('enable_bitmapscan', 'off', true), set_config('jit', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true)
from rowlock_lists l where l.name = :name {lock}
