-- The database's clock, to compare with this machine's.
select {now}
