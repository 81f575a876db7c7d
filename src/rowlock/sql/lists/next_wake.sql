-- How long until the next sleeping list wakes by itself, in milliseconds.
select min(wake_at) - {now} from rowlock_lists where wake_at > {now}
