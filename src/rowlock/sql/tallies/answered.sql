-- Was this very settlement asked for before? Then this is what had gone.
select gone from rowlock_tallies where token = :token and receipt = :receipt limit 1
