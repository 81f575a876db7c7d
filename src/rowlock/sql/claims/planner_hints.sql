-- Planner settings for statements outside a claim's transaction, where `claims/lock_list` sets them: go by the indexes and make
-- the plan once. The planner may know the claims as an empty table while a long transaction keeps thousands of dead rows.
select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true),
    set_config('plan_cache_mode', 'force_generic_plan', true)
