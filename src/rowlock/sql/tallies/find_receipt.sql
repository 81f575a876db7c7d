-- The receipt of a settlement that was made before, with the items that were gone then.
select gone from rowlock_tallies where token = :token and receipt = :receipt limit 1
