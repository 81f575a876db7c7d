-- The far end of a claim goes back unworked.
update rowlock_claims set high = :high, remaining = remaining - :count
where token = :token and session = :session and high > :high
