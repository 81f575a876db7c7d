-- How many lists are awake: those of everybody, and exclusive ones that are in nobody's hands.
select
    (select count(*) from rowlock_lists where wake_at <= {now} and not exclusive and state = 'open'),
    (select count(*) from rowlock_lists where wake_at <= {now} and exclusive and not leased and state = 'open')
