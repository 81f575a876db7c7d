-- The database's clock, to be compared with ours; only information, nothing trusts ours.
select {now}
