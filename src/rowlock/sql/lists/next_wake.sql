-- How long until the next sleeping list wakes by itself, in milliseconds; from the index of each kind its first.
select min(next.at) - {now} from (
    select (select min(wake_at) from rowlock_lists where wake_at > {now} and not exclusive and state = 'open') as at
    union all
    select (select min(wake_at) from rowlock_lists where wake_at > {now} and exclusive and not leased and state = 'open')
) as next
