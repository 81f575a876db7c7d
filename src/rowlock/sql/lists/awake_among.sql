-- Those of the lists that may have work now.
select name from rowlock_lists where name {among_keys} and wake_at <= {now} and state = 'open'
