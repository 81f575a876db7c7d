-- Sends what wakes workers, to check that it arrives; to wake them without need is harmless.
select pg_notify('rowlock', '')
