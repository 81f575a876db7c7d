-- What is claimed was claimed by other limits.
update rowlock_claims set family = null where list = :list and family is not null
