-- Before statements that are not in a claim's transaction, as `claims/lock` says it there: the planner goes by the indexes and
-- their order, and makes its plan once. It may know the claims as an empty table, while a long transaction keeps many
-- thousand dead ones in it.
select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
    set_config('plan_cache_mode', 'force_generic_plan', true)
