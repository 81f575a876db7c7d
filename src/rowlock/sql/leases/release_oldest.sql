-- The lists without claims that the session has held longest go to the back of those that wait.
with mine as (
    select l.id from rowlock_leases h join rowlock_lists l on l.id = h.list
    where h.session = :session and h.asked_by is null
        and not exists (select 1 from rowlock_claims c where c.list = h.list)
    order by h.taken_at, h.list limit :limit for no key update of l skip locked
),
ended as (delete from rowlock_leases h using mine where h.list = mine.id and h.session = :session)
update rowlock_lists l set leased = false, wake_at = {now} from mine where l.id = mine.id
