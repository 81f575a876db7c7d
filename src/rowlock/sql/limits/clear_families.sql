-- What is in hand was handed out by other rules.
update rowlock_claims set family = null where list = :list and family is not null
