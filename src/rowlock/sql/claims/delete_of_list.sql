delete from rowlock_claims where list = :list
