-- Ends a claim; what of it was not settled is free.
delete from rowlock_claims where token = :token and session = :session
