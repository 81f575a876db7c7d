-- Rows of a list that does not exist.
select orphan.noun, orphan.list, count(*)
from (
    select 'items' as noun, list from rowlock_items
    union all select 'claims', list from rowlock_claims
    union all select 'leases', list from rowlock_leases
    union all select 'waiters', list from rowlock_waiters
    union all select 'tallies', list from rowlock_tallies
    union all select 'sums', list from rowlock_sums
    union all select 'periods', list from rowlock_periods where list <> 0
    union all select 'errors', list from rowlock_errors
    union all select 'results', list from rowlock_results
) as orphan
where not exists (select 1 from rowlock_lists l where l.id = orphan.list)
group by orphan.noun, orphan.list order by orphan.noun, orphan.list
