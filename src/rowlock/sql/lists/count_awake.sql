-- How many lists are awake: shared ones, and exclusive ones without a lease.
select
    (select count(*) from rowlock_lists where wake_at <= {now} and not exclusive and state = 'open'),
    (select count(*) from rowlock_lists where wake_at <= {now} and exclusive and not leased and state = 'open')
