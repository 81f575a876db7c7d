-- Milliseconds until the next sleeping list wakes by itself: the first entry of each of the two indexes.
select min(next.at) - {now} from (
    select (select min(wake_at) from rowlock_lists where wake_at > {now} and not exclusive and state = 'open') as at
    union all
    select (select min(wake_at) from rowlock_lists where wake_at > {now} and exclusive and not leased and state = 'open')
) as next
