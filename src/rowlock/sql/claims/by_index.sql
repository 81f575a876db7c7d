-- Before a settlement in a trip, as `claims/lock` says it before a claim: the planner goes by the indexes, and makes its plan
-- once. It may know the claims as an empty table, while a long transaction keeps many thousand dead ones in it.
select set_config('enable_seqscan', 'off', true), set_config('plan_cache_mode', 'force_generic_plan', true)
