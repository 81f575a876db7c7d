-- Whoever opened it may see and touch only lists with these prefixes, and so may whoever uses it.
update rowlock_sessions set scope = :scope where id = :session
