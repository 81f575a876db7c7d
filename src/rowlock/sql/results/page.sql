-- The newest of each key, found by one more look into the index of keys.
select r.key, r.data as result, r.attempts, r.settled_at from rowlock_results r
where r.list = :list and r.key > :after and r.id = (
    select max(newest.id) from rowlock_results newest where newest.list = r.list and newest.key = r.key
)
order by r.key limit :limit
