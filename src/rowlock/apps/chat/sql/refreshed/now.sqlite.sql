-- The database's clock.
select cast(round((julianday('now') - 2440587.5) * 86400000) as integer)
