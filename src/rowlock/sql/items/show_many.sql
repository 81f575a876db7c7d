-- Items by their keys, for concurrent reads that are answered together; and whether failures are known of each.
-- Key by key, so that a planner without statistics also looks up each in the index and never walks the list.
select l.name as list, {parts/state} as state, {item_columns},
    exists (select 1 from rowlock_errors e where e.list = i.list and e.key = i.key) as has_failures
from rowlock_lists l cross join {keys} cross join lateral (
    select i.list, {item_columns} from rowlock_items i where i.list = l.id and i.key = given.key limit 1
) as i
where l.name = :list
