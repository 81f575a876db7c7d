-- The items of a session's claims are free again: request a wake of their lists.
insert into rowlock_wakes (list)
select c.list from rowlock_claims c where c.session = :session
union select h.list from rowlock_leases h where h.session = :session
{notify}
