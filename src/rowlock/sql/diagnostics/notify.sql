-- Sends the notification that wakes workers, to check that it arrives; waking them without need is harmless.
select pg_notify('rowlock', '')
