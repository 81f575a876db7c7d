-- Part of a claim has been settled.
update rowlock_claims set remaining = remaining - :settled where token = :token and session = :session
