-- Part of a claim has been settled; a repeated settlement is not subtracted twice.
update rowlock_claims set remaining = case when remaining > :settled then remaining - :settled else 0 end
where token = :token and session = :session
